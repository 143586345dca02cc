"""Kafka's configuration keys in one declarative table: parsing, validation, dynamic changes."""
