"""Consumer groups for commands: their descriptions and offsets, their tables, and resets of offsets."""
