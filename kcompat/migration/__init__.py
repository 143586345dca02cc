"""Data directories and metadata that change owners: taken over from a Kafka, adopted by a cluster, or handed
over to a Kafka.
"""
