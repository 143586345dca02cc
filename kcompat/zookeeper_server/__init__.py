"""ZooKeeper's protocol on a port, served from a `ProcessStore`.

For clients that support no other store: consumers of Kafka 0.8, kazoo, `zookeeper-shell`, and brokers in
other processes of this machine. The server is a single one, not an ensemble.
"""
