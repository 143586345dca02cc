"""Initialization of a group's share partitions, as the group coordinator's log records it.

A share partition is assigned to members once the share coordinator has initialized its state. A deleted topic
is kept here until the share coordinator has deleted its state. Kafka's counterpart:
`ShareGroupStatePartitionMetadataInfo`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TopicPartitions(NamedTuple):
    """Name of a topic and some of its partitions."""

    name: str
    partitions: frozenset[int]


NO_TOPICS: Mapping[bytes, TopicPartitions] = MappingProxyType({})


class Initialization(Struct, frozen=True):
    """Share partitions that are being initialized or are initialized, and topics whose state is being
    deleted.
    """

    initializing: Mapping[bytes, TopicPartitions] = NO_TOPICS
    initialized: Mapping[bytes, TopicPartitions] = NO_TOPICS
    deleting: frozenset[bytes] = frozenset()

    def with_begun(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """Return the initialization with these share partitions as initializing. Their topics no longer count
        as being deleted.
        """
        initializing = union(self.initializing, topics)
        return replace(self, initializing=initializing, deleting=self.deleting - initializing.keys())

    def with_completed(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """Return the initialization with these share partitions as initialized, if they are initializing.

        Others are left out: two heartbeats may request the same initialization, and the state may have been
        deleted since the first one completed.
        """
        begun = {
            topic_id: TopicPartitions(name, partitions & self.initializing[topic_id].partitions)
            for topic_id, (name, partitions) in topics.items()
            if topic_id in self.initializing
        }
        return replace(self.without_initializing(topics), initialized=union(self.initialized, begun))

    def without_initializing(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """Return the initialization without these share partitions, which could not be initialized."""
        return replace(self, initializing=_without(self.initializing, topics))

    def with_deleting(self, topic_ids: Iterable[bytes]) -> Initialization:
        """Return the initialization with these topics as being deleted, and no longer as initialized."""
        gone = frozenset(topic_ids)
        return replace(self.without_topics(gone), deleting=self.deleting | gone)

    def with_deleted(self, topic_ids: Iterable[bytes]) -> Initialization:
        """Return the initialization without these topics as being deleted: their state is gone."""
        return replace(self, deleting=self.deleting - frozenset(topic_ids))

    def without_topics(self, topic_ids: Iterable[bytes]) -> Initialization:
        """Return the initialization without topics that no longer exist."""
        gone = frozenset(topic_ids)
        return Initialization(
            {topic_id: row for topic_id, row in self.initializing.items() if topic_id not in gone},
            {topic_id: row for topic_id, row in self.initialized.items() if topic_id not in gone},
            self.deleting - gone,
        )


def union(
    left: Mapping[bytes, TopicPartitions], right: Mapping[bytes, TopicPartitions]
) -> dict[bytes, TopicPartitions]:
    """Return the partitions of both arguments, by topic id."""
    found = dict(left)
    for topic_id, (name, partitions) in right.items():
        known = found.get(topic_id)
        found[topic_id] = TopicPartitions(name, partitions | (known.partitions if known else frozenset()))
    return found


def _without(
    left: Mapping[bytes, TopicPartitions], right: Mapping[bytes, TopicPartitions]
) -> dict[bytes, TopicPartitions]:
    found = {}
    for topic_id, (name, partitions) in left.items():
        known = right.get(topic_id)
        rest = partitions - (known.partitions if known else frozenset())
        if rest:
            found[topic_id] = TopicPartitions(name, rest)
    return found
