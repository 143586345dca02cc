"""Fetching from the brokers that lead: fetch sessions, truncation, and appending to the logs that follow."""
