"""The replicas of this broker: partitions with their roles, replication, and delayed requests.

`leading` holds a leader's knowledge of its followers, `following` fetches from other brokers, `waiting`
serves fetches and holds delayed requests, `moving` copies logs between log directories.
"""
