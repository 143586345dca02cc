"""Record batches: reading, checking, building and compressing them. Pure."""
