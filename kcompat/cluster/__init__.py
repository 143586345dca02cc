"""Cluster metadata: the store and its back ends, znode payloads, the cluster image, replica placement."""
