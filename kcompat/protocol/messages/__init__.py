"""Every message of the Kafka protocol, one module per API."""
