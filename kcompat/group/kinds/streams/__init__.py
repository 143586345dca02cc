"""Streams groups (KIP-1071): the coordinator knows the topology, makes its topics, and assigns its tasks."""
