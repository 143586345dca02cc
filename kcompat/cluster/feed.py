"""The cluster image in force on a broker, how news change it, and who is told of the next one."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.image import LEADER_DURING_DELETION, ClusterImage, TopicImage
from kcompat.cluster.news import UpdateConfigs, UpdateMetadata
from kcompat.faults import contained
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.cluster.image import PartitionInfo
    from kcompat.cluster.news import ShownPartition

    Listener = Callable[[ClusterImage, ClusterImage], object]


class MetadataCache:
    """Holds the cluster image in force on this broker. Kafka's counterpart: `MetadataCache`."""

    def __init__(self, cluster_id: str) -> None:
        self.image = ClusterImage(cluster_id)
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(old, new)` after each replacement; what is unchanged is the same object in both. One
        that raises is logged, and the others hear of the picture all the same.
        """
        self._listeners.append(listener)

    def hear(self, news: UpdateMetadata | UpdateConfigs) -> None:
        """Change the picture by what the controller says."""
        match news:
            case UpdateMetadata(controller_id, _, brokers, partitions):
                image = merged(self.image, partitions) if partitions else self.image
                self.update(replace(image, controller_id=controller_id, brokers=brokers))
            case UpdateConfigs(changed):
                self.update(self.image.with_configs(changed))

    def update(self, image: ClusterImage) -> None:
        """Replace the picture."""
        old, self.image = self.image, image
        for listener in self._listeners:
            with contained("a part of the broker that was shown a new cluster image"):
                listener(old, image)


def merged(image: ClusterImage, shown: Iterable[ShownPartition]) -> ClusterImage:
    """A picture with partitions added, replaced or, where they are being deleted, removed. A topic is
    known as long as one of its partitions is; with another id it is another topic.
    """
    topics: dict[str, tuple[bytes, dict[int, PartitionInfo]]] = {}
    for name, of_topic in groupby(shown, key=attrgetter("topic")):
        topic_id, partitions = topics.get(name) or _known(image, name)
        for one in of_topic:
            if one.topic_id not in (topic_id, ZERO_UUID):
                if one.info.leader == LEADER_DURING_DELETION and topic_id != ZERO_UUID:
                    continue
                partitions = partitions if topic_id == ZERO_UUID else {}
                topic_id = one.topic_id
            if one.info.leader == LEADER_DURING_DELETION:
                partitions.pop(one.index, None)
            else:
                partitions[one.index] = one.info
        topics[name] = topic_id, partitions
    changed = [
        TopicImage(name, topic_id, dict(sorted(partitions.items())))
        for name, (topic_id, partitions) in topics.items()
        if partitions
    ]
    removed = [name for name, (_, partitions) in topics.items() if not partitions]
    return image.with_topics(changed, removed)


def _known(image: ClusterImage, name: str) -> tuple[bytes, dict[int, PartitionInfo]]:
    """The id of a topic and its partitions, for the caller to change; none of an unknown one."""
    topic = image.topics.get(name)
    return (ZERO_UUID, {}) if topic is None else (topic.topic_id, dict(topic.partitions))
