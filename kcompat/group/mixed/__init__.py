"""Classic members in consumer groups, and conversion of groups with members to the other kind (KIP-848)."""
