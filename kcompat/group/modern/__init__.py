"""Groups with assignments by the broker: their epochs, targets, and topics (KIP-848, KIP-932, KIP-1071)."""
