"""The controller: from events to decisions. Nothing else writes the state of partitions."""
