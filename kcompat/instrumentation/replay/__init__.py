"""Replay of recorded requests to any Kafka, and comparison of its answers with the recorded ones."""
