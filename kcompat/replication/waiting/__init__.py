"""Fetches that are served to clients and followers, and requests that wait for a partition to progress."""
