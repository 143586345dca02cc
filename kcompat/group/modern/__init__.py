"""What the groups of today have in common: epochs, targets, and topics they depend on (KIP-848, KIP-932)."""
