"""The kinds of groups: what each does by its own KIP."""
