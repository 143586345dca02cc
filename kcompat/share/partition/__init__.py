"""A share partition on the leader of its partition: which records are handed out, to whom, and how often."""
