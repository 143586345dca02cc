"""Storage: one partition's log and the log directories, in Kafka's own file formats and names."""
