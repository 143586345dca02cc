"""Consumer groups: what they are and where they stand, their tables, and the resets of their offsets."""
