"""Consumer groups (KIP-848): the coordinator assigns, and each member goes to its target at its own pace."""
