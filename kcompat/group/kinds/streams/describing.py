"""Topologies in StreamsGroupDescribe, and the partitions whose state can be queried at members (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.streams.requests import (
    DescribedSubtopology,
    DescribedTopic,
    DescribedTopology,
    EndpointPartitions,
)
from kcompat.group.modern.topics import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.kinds.streams.configured import ConfiguredTopology, InternalTopic
    from kcompat.group.kinds.streams.member import StreamsMember
    from kcompat.group.kinds.streams.topology import TopicInfo, Topology


def described_topology(
    topology: Topology | None, configured: ConfiguredTopology | None
) -> DescribedTopology | None:
    """Return the topology for a description; None if the group has none."""
    if configured is not None and configured.problem is None and configured.subtopologies is not None:
        return DescribedTopology(
            configured.epoch,
            tuple(
                DescribedSubtopology(
                    subtopology_id,
                    _in_order(each.source_topics),
                    _in_order(each.repartition_sink_topics),
                    _topics(each.state_changelog_topics.values()),
                    _topics(each.repartition_source_topics.values()),
                )
                for subtopology_id, each in configured.subtopologies.items()
            ),
        )
    if topology is None:
        return None
    subtopologies = topology.subtopologies
    return DescribedTopology(
        topology.epoch,
        tuple(
            DescribedSubtopology(
                subtopology_id,
                _in_order(subtopologies[subtopology_id].source_topics),
                _in_order(subtopologies[subtopology_id].repartition_sink_topics),
                _topics(subtopologies[subtopology_id].state_changelog_topics),
                _topics(subtopologies[subtopology_id].repartition_source_topics),
            )
            for subtopology_id in _in_order(subtopologies)
        ),
    )


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=java_order))


def _topics(topics: Iterable[InternalTopic] | Iterable[TopicInfo]) -> tuple[DescribedTopic, ...]:
    rows = (
        DescribedTopic(topic.name, topic.partitions, topic.replication_factor, topic.configs)
        for topic in topics
    )
    return tuple(sorted(rows, key=lambda row: java_order(row.name)))


def endpoints(
    members: Iterable[StreamsMember], configured: ConfiguredTopology, image: ClusterImage
) -> tuple[EndpointPartitions, ...]:
    """Return the endpoints of all members that have one, with their partitions; none before the topology is
    matched with topics.
    """
    return tuple(
        EndpointPartitions(
            member.endpoint,
            dict(_partitions(member.assigned.active, configured, image)),
            dict(_partitions(member.assigned.standby, configured, image)),
        )
        for member in members
        if member.endpoint is not None
    )


def _partitions(
    tasks: Mapping[str, Iterable[int]], configured: ConfiguredTopology, image: ClusterImage
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return the existing partitions that tasks read, by topic."""
    for subtopology_id, numbers in tasks.items():
        subtopology = (configured.subtopologies or {}).get(subtopology_id)
        if subtopology is None:
            continue
        for name in sorted(subtopology.source_topics | subtopology.repartition_source_topics.keys()):
            topic = image.topics.get(name)
            if topic is not None:
                yield name, tuple(sorted(number for number in numbers if number in topic.partitions))
