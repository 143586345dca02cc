"""A blocking client of any Kafka broker, for commands: connections with TLS and SASL, routing, retries.

Kafka's counterpart: `KafkaAdminClient`.
"""
