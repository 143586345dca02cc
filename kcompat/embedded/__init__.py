"""Brokers inside the process of the program that uses them, for tests and notebooks."""
