"""The topology of a streams application, as members send it and `__consumer_offsets` stores it.

Two topologies are equal if a member with one may join the group of the other. Kafka's counterpart:
`StreamsTopology`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNDECIDED = 0
"""Number of partitions or replicas of a topic for which the application leaves the choice to the broker."""


class TopicInfo(Struct, frozen=True):
    """Repartition or changelog topic that the coordinator creates for the application.

    `partitions` of a changelog topic is UNDECIDED: it gets one partition for each task of its subtopology.
    """

    name: str
    partitions: int = UNDECIDED
    replication_factor: int = UNDECIDED
    configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(Struct, frozen=True):
    """Source topics that must have the same number of partitions, as indices into the subtopology's lists."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(Struct, frozen=True):
    """Part of the application that shares no state with other parts.

    Each of its tasks reads one partition of each source topic.
    """

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    def read_topics(self) -> Iterator[str]:
        """Return the topics that the tasks read, repartition topics last."""
        yield from self.source_topics
        for topic in self.repartition_source_topics:
            yield topic.name


class Topology(Struct, frozen=True):
    """The subtopologies of an application by id, in the order of the heartbeat that declared them."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    def required_topics(self) -> frozenset[str]:
        """Return all topics that must exist before tasks are assigned."""
        return frozenset(
            name
            for subtopology in self.subtopologies.values()
            for name in (
                *subtopology.read_topics(),
                *(topic.name for topic in subtopology.state_changelog_topics),
            )
        )

    def reader_of(self, topic: str) -> str | None:
        """Return the last subtopology whose tasks read a topic; None if there is none."""
        readers = [
            subtopology.subtopology_id
            for subtopology in self.subtopologies.values()
            if topic in subtopology.read_topics()
        ]
        return readers[-1] if readers else None
