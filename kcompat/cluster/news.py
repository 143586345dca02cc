"""News for a broker: what was decided that concerns it. Pure.

A piece of news is the same value whether the controller of this process hands it over, a controller elsewhere
sends it, or a watch of the store finds it out. All but `UpdateConfigs` are requests of Kafka and have their
names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.cluster.image import BrokerInfo, TopicImage


class Role(Struct, frozen=True, gc=False):
    """What the controller decided for a partition: who leads, since which epoch, who is in sync."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int = 0


class AssignedPartition(Struct, frozen=True, gc=False):
    """One partition of a LeaderAndIsr; `is_new` says that its log may be absent."""

    topic: str
    topic_id: bytes
    index: int
    role: Role
    is_new: bool


class LeaderAndIsr(Struct, frozen=True):
    """Take these roles; create the logs that are missing."""

    partitions: Sequence[AssignedPartition]


class StopReplica(Struct, frozen=True):
    """Stop serving these partitions and delete their logs."""

    partitions: Sequence[tuple[str, int]]


class UpdateMetadata(Struct, frozen=True):
    """Show clients this controller and these brokers, and what changed of the topics."""

    controller_id: int
    brokers: Mapping[int, BrokerInfo]
    topics: Sequence[TopicImage] = ()
    """Those that are new or have changed, each as a whole."""
    removed: Sequence[str] = ()


class UpdateConfigs(Struct, frozen=True):
    """Obey and show these dynamic configs of entities, each complete; a topic's come before its roles."""

    changed: Mapping[tuple[str, str], Mapping[str, str]]


News = LeaderAndIsr | StopReplica | UpdateMetadata | UpdateConfigs
