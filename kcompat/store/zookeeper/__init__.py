"""The metadata store on a ZooKeeper ensemble, through the client library kazoo. No other package uses kazoo
or its threads.

Kafka's counterpart: `ZooKeeperClient`.
"""
