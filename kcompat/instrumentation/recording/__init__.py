"""Recording of the requests to a broker, its answers, and the events of its connections."""
