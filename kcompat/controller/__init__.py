"""The controller: turns events into decisions about topics and partitions. No other package decides on the
state of partitions.
"""
