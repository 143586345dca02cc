"""Log lines that say why a client fails: one for each cause, with repetitions counted."""
