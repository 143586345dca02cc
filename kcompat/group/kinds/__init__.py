"""The kinds of groups, each with the behaviour of its KIP."""
