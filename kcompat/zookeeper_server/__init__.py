"""ZooKeeper's own protocol on a port, served from a `ProcessStore`.

For clients that know nothing else: consumers of 0.8, kazoo, `zookeeper-shell`, brokers in other processes of
this machine. One server, no ensemble.
"""
