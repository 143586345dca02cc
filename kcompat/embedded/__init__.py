"""Brokers inside the process of the program that uses them, for tests and notebooks."""

from kcompat.embedded.broker import Broker
from kcompat.embedded.cluster import Cluster, ClusterBroker
from kcompat.embedded.permissions import allow, deny

__all__ = ["Broker", "Cluster", "ClusterBroker", "allow", "deny"]
