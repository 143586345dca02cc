"""Consumer groups (KIP-848): the coordinator assigns, and each member moves to its target independently."""
