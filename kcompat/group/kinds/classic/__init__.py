"""Classic groups: the members agree on a protocol, and one of them, the leader, assigns partitions."""
