"""Groups to which the broker assigns: their epochs, targets and topics (KIP-848, KIP-932, KIP-1071)."""
