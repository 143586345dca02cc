"""Log compaction: which log to clean, what stays of it, and putting that in its place (KIP-58, KIP-534)."""
