"""Fetching from the leaders on other brokers: fetch sessions, truncation, and appending to the logs of
followers.
"""
