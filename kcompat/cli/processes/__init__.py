"""A cluster of broker processes on this machine: `kcompat start --brokers N --processes`.

The command itself runs no broker. It starts the processes, receives a report from each, and ends them. The
first broker keeps the metadata store and serves it over ZooKeeper's protocol; the others connect to it.
"""
