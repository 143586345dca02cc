"""The endpoints of members, with the partitions that their tasks read (KIP-1071).

Kafka's counterpart: `EndpointToPartitionsManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.streams.requests import EndpointPartitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.kinds.streams.configured import ConfiguredTopology
    from kcompat.group.kinds.streams.member import StreamsMember


def endpoints(
    members: Iterable[StreamsMember], configured: ConfiguredTopology, image: ClusterImage
) -> tuple[EndpointPartitions, ...]:
    """Return the endpoints of all members that have one. Without a laid out topology there are no tasks."""
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
    """The partitions that tasks read, by topic, as far as there are so many."""
    for subtopology_id, numbers in tasks.items():
        subtopology = (configured.subtopologies or {}).get(subtopology_id)
        if subtopology is None:
            continue
        for name in sorted(subtopology.source_topics | subtopology.repartition_source_topics.keys()):
            topic = image.topics.get(name)
            if topic is not None:
                yield name, tuple(sorted(number for number in numbers if number in topic.partitions))
