"""Tools that look into a running broker or disturb it: for tests, and for people who look for a fault.

The modules work on a started `kcompat.node.broker.BrokerNode`, on its event loop. `kcompat.embedded` offers
them to the program around the broker, and the command line to other processes.
"""
