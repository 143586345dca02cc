"""The broker's current cluster image, the metadata updates that change it, and its listeners."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import UpdateConfigs, UpdateMetadata
from kcompat.cluster.image import LEADER_DURING_DELETION, ClusterImage, TopicImage
from kcompat.faults import contained
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.store.subscribers import Subscribers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kcompat.cluster.control_requests import UpdatedPartition
    from kcompat.cluster.image import BrokerInfo, PartitionInfo

    Listener = Callable[[ClusterImage, ClusterImage], object]
    Configs = Mapping[tuple[str, str], Mapping[str, str]]


class MetadataCache:
    """Holder of this broker's current cluster image. Kafka's counterpart: `MetadataCache`.

    Listeners of configs and of deletions get the change itself: to find it by a comparison of two images
    would take time in proportion to all topics, for each topic created.
    """

    def __init__(self, cluster_id: str) -> None:
        self.image = ClusterImage(cluster_id)
        self._listeners: list[Listener] = []
        self._configs: Subscribers[None, Configs] = Subscribers("a listener to changes of configs")
        self._deletions: Subscribers[None, frozenset[str]] = Subscribers("a listener to deletions of topics")

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(old, new)` each time the image is replaced; unchanged parts are the same object in
        both images.

        An exception of a listener is logged, and the other listeners are still called.
        """
        self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        """Call a listener no longer. Must not be called by a listener."""
        self._listeners.remove(listener)

    def subscribe_to_configs(self, listener: Callable[[Configs], object]) -> None:
        """Call `listener` with changed or newly known configs by (kind, name), after the image has been
        replaced.

        Each value holds all configs of its entity. Configs that are removed with their topic are not
        reported.
        """
        self._configs.add(None, listener)

    def subscribe_to_deletions(self, listener: Callable[[frozenset[str]], object]) -> None:
        """Call `listener` with the names of topics removed from the image."""
        self._deletions.add(None, listener)

    def begin_with(self, own: BrokerInfo) -> None:
        """Make an image that holds this broker alone, for use until the first metadata update."""
        self.update(replace(self.image, brokers={own.id: own}))

    def apply(self, update: UpdateMetadata | UpdateConfigs) -> None:
        """Apply a metadata update or an update of configs to the image."""
        match update:
            case UpdateMetadata(controller_id, _, brokers, partitions, presumed_dead):
                old = self.image
                image = merged(old, partitions) if partitions else old
                self.update(
                    replace(image, controller_id=controller_id, brokers=brokers, presumed_dead=presumed_dead)
                )
                named = {each.topic for each in partitions}
                self._notify_of_deleted(
                    name for name in named if name in old.topics and name not in image.topics
                )
            case UpdateConfigs(changed):
                known = self.image.entity_configs
                other = {key: configs for key, configs in changed.items() if known.get(key) != configs}
                self.update(self.image.with_configs(changed))
                if other:
                    self._configs.notify(None, other)

    def forget(self, topics: Collection[str]) -> None:
        """Remove these topics from the image."""
        self.update(self.image.with_topics((), topics))
        self._notify_of_deleted(topics)

    def _notify_of_deleted(self, topics: Iterable[str]) -> None:
        deleted = frozenset(topics)
        if deleted:
            self._deletions.notify(None, deleted)

    def update(self, image: ClusterImage) -> None:
        """Replace the image, and call the listeners."""
        old, self.image = self.image, image
        for listener in self._listeners:
            with contained("a listener to the metadata image"):
                listener(old, image)


def merged(image: ClusterImage, shown: Iterable[UpdatedPartition]) -> ClusterImage:
    """Return an image with these partitions added, replaced or, if they are being deleted, removed.

    A topic is removed with its last partition. A partition with another topic id than the image's belongs to
    a new topic of that name, which replaces the old one.
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
    """Return the id of a topic and a copy of its partitions; both are empty for an unknown topic."""
    topic = image.topics.get(name)
    return (ZERO_UUID, {}) if topic is None else (topic.topic_id, dict(topic.partitions))
