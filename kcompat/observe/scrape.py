"""A broker at the time of one page of metrics: its parts, and values that several families share.

Each family reads the live parts, between two iterations of the event loop. So the samples of one family
belong to one moment, and those of two families may be some milliseconds apart.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from kcompat.observe.exposition import labels
from kcompat.replication.leading.leader import Leader

if TYPE_CHECKING:
    from kcompat.cluster.image import ClusterImage
    from kcompat.net.server import Server
    from kcompat.node.hooks import Hooks
    from kcompat.node.parts import Parts
    from kcompat.observe.loop_load import LoopLoad
    from kcompat.observe.request_times import RequestTimes
    from kcompat.replication.partition import Partition
    from kcompat.replication.statistics import TopicStatistics


class LedPartitions(Struct):
    """Numbers of partitions that this broker leads, by their in-sync replicas."""

    all: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0


class ClusterCounts(Struct):
    """Numbers of partitions of the cluster, as its controller sees them."""

    all: int = 0
    offline: int = 0
    """Partitions without a live leader."""
    imbalanced: int = 0
    """Partitions whose leader is not the preferred replica, the first one assigned."""


class Scrape:
    """Source of one page of metrics, on the event loop of the broker."""

    def __init__(self, broker: Hooks, requests: RequestTimes, load: LoopLoad) -> None:
        self.broker = broker
        self.requests = requests
        self.load = load

    @property
    def parts(self) -> Parts:
        """The parts of the broker."""
        return parts_of(self.broker)

    @property
    def server(self) -> Server:
        """The listeners and connections of the broker."""
        return self.broker.server

    @property
    def image(self) -> ClusterImage:
        """The metadata image of the broker."""
        return self.parts.storage.metadata.image

    @property
    def is_controller(self) -> bool:
        """Whether this broker is the controller of its cluster."""
        return self.parts.cluster.controller_election.is_here

    @cached_property
    def partitions(self) -> list[tuple[str, Partition]]:
        """The partitions of this broker, each with the text of its labels."""
        return [
            (labels(topic=partition.topic, partition=partition.index), partition)
            for partition in self.parts.storage.replicas
        ]

    @cached_property
    def topics(self) -> list[tuple[str, TopicStatistics]]:
        """The statistics of each topic, after the statistics of all topics together, which have no label."""
        statistics = self.parts.storage.replicas.statistics
        return [("", statistics.total()), *((labels(topic=topic), each) for topic, each in statistics)]

    @cached_property
    def led(self) -> LedPartitions:
        """Numbers of partitions that this broker leads."""
        led = LedPartitions()
        for _, partition in self.partitions:
            leader = partition.state
            if isinstance(leader, Leader):
                led.all += 1
                led.under_replicated += is_under_replicated(leader)
                led.under_min_isr += len(leader.state.isr) < leader.min_isr
                led.at_min_isr += len(leader.state.isr) == leader.min_isr
        return led

    @cached_property
    def cluster(self) -> ClusterCounts:
        """Numbers of partitions of the cluster; 0 unless this broker is the controller."""
        counts = ClusterCounts()
        image = self.image
        for topic in image.topics.values() if self.is_controller else ():
            for partition in topic.partitions.values():
                counts.all += 1
                counts.offline += partition.leader not in image.brokers
                counts.imbalanced += partition.leader != partition.replicas[0]
        return counts

    @cached_property
    def groups(self) -> Counter[str]:
        """Number of groups of this coordinator by state, in lower case without separators."""
        _, listed = self.parts.coordinators.groups.list_groups(frozenset(), frozenset())
        return Counter(group.state.lower().replace("_", "") for group in listed)


def parts_of(broker: Hooks) -> Parts:
    """Return the current parts of a broker."""
    return cast("Parts", broker.parts)


def is_under_replicated(leader: Leader) -> bool:
    """Return whether a replica is not in sync."""
    return len(leader.state.isr) < len(leader.remotes) + 1
