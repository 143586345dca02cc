"""Groups on the coordinator runtime: their members, assignments and committed offsets."""
