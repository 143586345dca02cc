"""Which share partitions of a group have state, as the log of the group coordinator says.

A share partition is given to members once the share coordinator has begun its state; until then it is one
that is being initialised. What is deleted stays in mind by topic until the share coordinator has forgotten
it. Kafka's counterpart: `ShareGroupStatePartitionMetadataInfo`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TopicPartitions(NamedTuple):
    """Some partitions of a topic."""

    name: str
    partitions: frozenset[int]


NO_TOPICS: Mapping[bytes, TopicPartitions] = MappingProxyType({})


class Initialization(Struct, frozen=True):
    """Share partitions whose state is to begin, and has begun; topics whose state is to be forgotten."""

    initializing: Mapping[bytes, TopicPartitions] = NO_TOPICS
    initialized: Mapping[bytes, TopicPartitions] = NO_TOPICS
    deleting: frozenset[bytes] = frozenset()

    def with_begun(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """The share coordinator is asked to begin these."""
        initializing = union(self.initializing, topics)
        return replace(self, initializing=initializing, deleting=self.deleting - initializing.keys())

    def with_completed(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """The share coordinator has begun these; it is asked to forget some of them by now."""
        begun = {topic_id: row for topic_id, row in topics.items() if topic_id not in self.deleting}
        return replace(self.with_given_up(topics), initialized=union(self.initialized, begun))

    def with_given_up(self, topics: Mapping[bytes, TopicPartitions]) -> Initialization:
        """The share coordinator was asked to begin these, and need not be waited for any more."""
        return replace(self, initializing=_without(self.initializing, topics))

    def with_deleting(self, topic_ids: Iterable[bytes]) -> Initialization:
        """The share coordinator is asked to forget what has begun of these, and what may be about to."""
        gone = frozenset(topic_ids)
        return replace(self.without_topics(gone), deleting=self.deleting | gone)

    def with_deleted(self, topic_ids: Iterable[bytes]) -> Initialization:
        """The share coordinator has forgotten these."""
        return replace(self, deleting=self.deleting - frozenset(topic_ids))

    def without_topics(self, topic_ids: Iterable[bytes]) -> Initialization:
        """These topics do not exist any more."""
        gone = frozenset(topic_ids)
        return Initialization(
            {topic_id: row for topic_id, row in self.initializing.items() if topic_id not in gone},
            {topic_id: row for topic_id, row in self.initialized.items() if topic_id not in gone},
            self.deleting - gone,
        )


def union(
    left: Mapping[bytes, TopicPartitions], right: Mapping[bytes, TopicPartitions]
) -> dict[bytes, TopicPartitions]:
    """The partitions of both."""
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
