"""Cluster metadata: the metadata image and its updates, znode payloads, registrations, replica placement."""
