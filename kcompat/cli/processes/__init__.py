"""A cluster of broker processes on this machine: `kcompat start --brokers N --processes`.

The command itself holds no broker. It starts the processes, is told by each how it fares, and ends them. The
first broker keeps the metadata store and serves it as a ZooKeeper does; the others find it there.
"""
