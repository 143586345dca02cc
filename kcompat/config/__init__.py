"""Kafka's own configuration keys in one declarative table: parsing, validation, dynamic changes."""
