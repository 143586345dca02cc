"""Brokers inside this process, beside the program that uses them. For tests and notebooks."""

from kcompat.embedded.broker import Broker
from kcompat.embedded.cluster import Cluster, ClusterBroker

__all__ = ["Broker", "Cluster", "ClusterBroker"]
