"""The metadata store on a ZooKeeper ensemble, through kazoo. Nothing outside knows kazoo or its threads.

Kafka's counterpart: `ZooKeeperClient`.
"""
