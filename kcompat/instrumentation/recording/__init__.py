"""A record of the requests to a broker and its answers, and of what its connections went through."""
