"""The cluster image in force on a broker, how news change it, and who is told of the next one."""

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
    """Holds the cluster image in force on this broker. Kafka's counterpart: `MetadataCache`.

    Who acts on a change of configs or on a deletion is told which it was: to find that out from two pictures
    would take the longer the more topics there are, for each topic that is made.
    """

    def __init__(self, cluster_id: str) -> None:
        self.image = ClusterImage(cluster_id)
        self._listeners: list[Listener] = []
        self._configs: Subscribers[None, Configs] = Subscribers("a part that was told of other configs")
        self._deletions: Subscribers[None, frozenset[str]] = Subscribers(
            "a part that was told of deleted topics"
        )

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(old, new)` after each replacement; what is unchanged is the same object in both. One
        that raises is logged, and the others hear of the picture all the same.
        """
        self._listeners.append(listener)

    def subscribe_to_configs(self, listener: Callable[[Configs], object]) -> None:
        """Call `listener` with the configs of entities that are other than they were, or known only now, by
        (kind, name) and each complete; the picture shows them by then. Configs that go with their topic are
        not told.
        """
        self._configs.add(None, listener)

    def subscribe_to_deletions(self, listener: Callable[[frozenset[str]], object]) -> None:
        """Call `listener` with the names of topics that are shown no more."""
        self._deletions.add(None, listener)

    def begin_with(self, own: BrokerInfo) -> None:
        """Show this broker, until the controller says who is there."""
        self.update(replace(self.image, brokers={own.id: own}))

    def apply(self, update: UpdateMetadata | UpdateConfigs) -> None:
        """Change the picture by what the controller says."""
        match update:
            case UpdateMetadata(controller_id, _, brokers, partitions, presumed_dead):
                old = self.image
                image = merged(old, partitions) if partitions else old
                self.update(
                    replace(image, controller_id=controller_id, brokers=brokers, presumed_dead=presumed_dead)
                )
                named = {each.topic for each in partitions}
                self._tell_deleted(name for name in named if name in old.topics and name not in image.topics)
            case UpdateConfigs(changed):
                known = self.image.entity_configs
                other = {key: configs for key, configs in changed.items() if known.get(key) != configs}
                self.update(self.image.with_configs(changed))
                if other:
                    self._configs.tell(None, other)

    def forget(self, topics: Collection[str]) -> None:
        """Show these topics no more."""
        self.update(self.image.with_topics((), topics))
        self._tell_deleted(topics)

    def _tell_deleted(self, topics: Iterable[str]) -> None:
        deleted = frozenset(topics)
        if deleted:
            self._deletions.tell(None, deleted)

    def update(self, image: ClusterImage) -> None:
        """Replace the picture."""
        old, self.image = self.image, image
        for listener in self._listeners:
            with contained("a part of the broker that was shown a new cluster image"):
                listener(old, image)


def merged(image: ClusterImage, shown: Iterable[UpdatedPartition]) -> ClusterImage:
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
