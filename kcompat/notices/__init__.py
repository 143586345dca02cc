"""The lines of the log that say why a client fails: each cause has one, and repetitions are counted."""
