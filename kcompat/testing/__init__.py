"""Fakes and tools for tests: virtual time, raw clients, small worlds of the broker's machines."""
