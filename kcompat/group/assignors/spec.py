"""The input of an assignor, and the interface of assignors.

Kafka's counterparts: `GroupSpec`, `MemberSubscription`, `ConsumerGroupPartitionAssignor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.group.modern.assignment import NO_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MemberSpec(Struct, frozen=True):
    """A member: the ids of the topics that it subscribes to, as far as they exist, and its last target."""

    topics: frozenset[bytes]
    target: Mapping[bytes, frozenset[int]] = NO_PARTITIONS
    instance_id: str | None = None


class GroupSpec(Struct, frozen=True):
    """A group by member id, as the input of an assignor.

    `partition_counts` has every topic that a member subscribes to. `is_homogeneous`: all members subscribe to
    the same topics. `assignable`: the partitions that may be assigned, if not all.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    is_homogeneous: bool
    assignable: Mapping[bytes, frozenset[int]] | None = None

    def partitions_of(self, topic_id: bytes) -> Sequence[int]:
        """Return the partitions of a topic that may be assigned, in order."""
        partitions = range(self.partition_counts[topic_id])
        if self.assignable is None:
            return partitions
        assignable = self.assignable.get(topic_id, frozenset())
        return [index for index in partitions if index in assignable]


class Assignor(Protocol):
    """A way to share partitions out."""

    @property
    def name(self) -> str:
        """Name of the assignor in requests and configurations."""

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, frozenset[int]]]:
        """Return the next target of each member; a member that is missing in it gets nothing."""
