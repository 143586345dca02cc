"""Recorded requests played to any Kafka, and where its answers differ from the recorded ones."""
