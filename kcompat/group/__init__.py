"""Consumer groups on the coordinator runtime: who is in, who has what, how far they have read."""
