"""A broker compatible with the Apache Kafka protocol."""
