"""Reassignments of partitions: their throttles, their states, and replicas that change their directory."""
