"""Data directories that change hands: taken over from a Kafka, adopted by a cluster, handed over again."""
