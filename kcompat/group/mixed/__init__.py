"""Classic members in consumer groups, and groups that change their kind while they have members (KIP-848)."""
