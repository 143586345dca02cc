"""The Kafka APIs: one handler module per key, the registry of what is served, and the dispatcher."""
