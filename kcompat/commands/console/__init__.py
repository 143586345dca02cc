"""Kafka's console clients: records from standard input to topics, and from topics to standard output."""
