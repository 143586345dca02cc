"""The metadata store: its interface with ZooKeeper's semantics, and two implementations.

`process_store` keeps the nodes in this process, with a journal in SQLite.
`zookeeper` is a client of an ensemble.
"""
