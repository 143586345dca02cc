"""Matching of a topology with the topics of the cluster: its tasks, and the internal topics to create. Pure.

A repartition topic without a number of partitions gets as many as the largest topic that its writers read, or
as the topics with which it is copartitioned; a changelog gets one partition for each task. Kafka's
counterparts: `InternalTopicManager`, `RepartitionTopics`, `ChangelogTopics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.streams.configured import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    InternalTopic,
    Status,
    StatusCode,
)
from kcompat.group.kinds.streams.partition_counts import (
    InvalidTopologyError,
    PartitionCounts,
    WronglyPartitionedError,
    decide,
)
from kcompat.group.modern.topics import java_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.kinds.streams.topology import Subtopology, TopicInfo, Topology

_SHOWN = 3
"""Maximum number of topics that a status message names."""


def configure(topology: Topology, image: ClusterImage) -> ConfiguredTopology:
    """Return the topology matched with the topics of the image.

    Raises InvalidTopologyError if no set of topics could satisfy the topology; the response is
    STREAMS_INVALID_TOPOLOGY(130).
    """
    subtopologies = topology.subtopologies.values()
    missing = {name for each in subtopologies for name in each.source_topics if name not in image.topics}
    if missing:
        detail = f"Source topics {_summary(missing)} are missing."
        return _impossible(topology, StatusCode.MISSING_SOURCE_TOPICS, detail)
    existing = {
        name: len(image.topics[name].partitions)
        for name in topology.required_topics()
        if name in image.topics
    }
    try:
        counts = decide(topology, existing)
        configured = {
            subtopology_id: _configured(topology.subtopologies[subtopology_id], counts)
            for subtopology_id in sorted(topology.subtopologies, key=java_order)
        }
        wanted = _to_be_made(configured.values(), existing)
    except WronglyPartitionedError as error:
        return _impossible(topology, StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(error))
    if not wanted:
        return ConfiguredTopology(topology.epoch, configured)
    problem = Status(StatusCode.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {_summary(wanted)}")
    return ConfiguredTopology(topology.epoch, configured, wanted, problem)


def _impossible(topology: Topology, code: StatusCode, detail: str) -> ConfiguredTopology:
    return ConfiguredTopology(topology.epoch, None, problem=Status(code, detail))


def _summary(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names, key=java_order)[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} additional topics" if more > 0 else shown


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        tasks=counts.largest(subtopology.read_topics()),
        source_topics=frozenset(subtopology.source_topics),
        repartition_source_topics=_internal(subtopology.repartition_source_topics, counts),
        repartition_sink_topics=frozenset(subtopology.repartition_sink_topics),
        state_changelog_topics=_internal(subtopology.state_changelog_topics, counts),
    )


def _internal(topics: Iterable[TopicInfo], counts: PartitionCounts) -> dict[str, InternalTopic]:
    found = {}
    for topic in topics:
        partitions = topic.partitions or counts.decided[topic.name]
        if partitions < 1:
            raise InvalidTopologyError(f"Topic {topic.name} cannot have {partitions} partitions.")
        found[topic.name] = InternalTopic(topic.name, partitions, topic.replication_factor, topic.configs)
    return found


def _to_be_made(
    subtopologies: Iterable[ConfiguredSubtopology], existing: Mapping[str, int]
) -> dict[str, InternalTopic]:
    """Return the internal topics that do not exist yet.

    Raises WronglyPartitionedError if an existing internal topic has another number of partitions.
    """
    wanted: dict[str, InternalTopic] = {}
    for subtopology in subtopologies:
        wanted.update(subtopology.repartition_source_topics)
        wanted.update(subtopology.state_changelog_topics)
    for name in sorted(wanted.keys() & existing.keys(), key=java_order):
        expected, found = wanted.pop(name).partitions, existing[name]
        if expected != found:
            raise WronglyPartitionedError(
                f"Existing topic {name} has different number of partitions: expected {expected}, "
                f"found {found}"
            )
    return wanted
