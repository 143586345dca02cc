"""The input of an assignor, the interface of assignors, and partitions by the 16-byte id of their topic.

Kafka's counterparts: `GroupSpec`, `MemberSubscription`, `ConsumerGroupPartitionAssignor`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NO_PARTITIONS: Mapping[bytes, frozenset[int]] = MappingProxyType({})


def partitions(pairs: Iterable[tuple[bytes, Iterable[int]]]) -> dict[bytes, frozenset[int]]:
    """Return partitions by topic id, without topics that have no partitions."""
    found = {topic_id: frozenset(indexes) for topic_id, indexes in pairs}
    return {topic_id: indexes for topic_id, indexes in found.items() if indexes}


class MemberSpec(Struct, frozen=True):
    """Input of an assignor for one member: the ids of the existing topics that it subscribes to, and its last
    target.
    """

    topics: frozenset[bytes]
    target: Mapping[bytes, frozenset[int]] = NO_PARTITIONS
    instance_id: str | None = None


class GroupSpec(Struct, frozen=True):
    """Input of an assignor for a group, by member id.

    `partition_counts` has every topic that a member subscribes to. `is_homogeneous`: all members subscribe to
    the same topics. `assignable`: the partitions that may be assigned, if not all.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    is_homogeneous: bool
    assignable: Mapping[bytes, frozenset[int]] | None = None

    def partitions_of(self, topic_id: bytes) -> Sequence[int]:
        """Return the assignable partitions of a topic, in order."""
        partitions = range(self.partition_counts[topic_id])
        if self.assignable is None:
            return partitions
        assignable = self.assignable.get(topic_id, frozenset())
        return [index for index in partitions if index in assignable]


class Assignor(Protocol):
    """Algorithm that computes the target assignment of a group."""

    @property
    def name(self) -> str:
        """Name of the assignor in requests and configurations."""

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, frozenset[int]]]:
        """Return the next target of each member; a member that is missing in the result gets no
        partitions.
        """
