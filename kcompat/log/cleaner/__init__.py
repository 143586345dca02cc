"""Log compaction: choosing a log, copying the records to keep, replacing its segments (KIP-58, KIP-534)."""
