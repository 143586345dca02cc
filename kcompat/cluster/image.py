"""The cluster image: the brokers, topics, partitions and dynamic configs that a broker knows of.

An image is immutable. The controller decides on a larger state (`kcompat.controller.state`).

Readers take the current image and need no lock. A change makes a new image that shares all unchanged topics
and configs with the old one; each change copies one dict shallowly, however many topics it changes.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

LEADER_DURING_DELETION = -2
NO_CONTROLLER = -1

_NOTHING: Mapping[str, str] = MappingProxyType({})


class BrokerInfo(Struct, frozen=True, gc=False):
    """A live broker, with (host, port) by listener name.

    `security_protocols` are by listener name; the default is PLAINTEXT.
    """

    id: int
    rack: str | None
    endpoints: Mapping[str, tuple[str, int]]
    security_protocols: Mapping[str, str] = {}


class PartitionInfo(Struct, frozen=True, gc=False):
    """The leader and replicas of a partition, as clients see them.

    An `offline` replica is on a broker that is down or on a failed disk.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline: tuple[int, ...] = ()


class TopicImage(Struct, frozen=True, gc=False):
    """A topic and its known partitions, in ascending order of their indices."""

    name: str
    topic_id: bytes
    partitions: Mapping[int, PartitionInfo]

    @property
    def is_internal(self) -> bool:
        """Whether the topic is one of those in which Kafka keeps its own state."""
        return is_internal(self.name)

    @property
    def replication_factor(self) -> int:
        """Number of replicas of the first partition, as Kafka defines the topic's replication factor."""
        first = next(iter(self.partitions.values()), None)
        return 0 if first is None else len(first.replicas)


class ClusterImage(Struct, frozen=True):
    """The metadata of the cluster, as request handlers read it. Callers must not change the mappings."""

    cluster_id: str
    controller_id: int = NO_CONTROLLER
    brokers: Mapping[int, BrokerInfo] = {}
    topics: Mapping[str, TopicImage] = {}
    topic_names: Mapping[bytes, str] = {}
    entity_configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
    presumed_dead: Mapping[int, BrokerInfo] = {}
    """Brokers whose processes have ended and whose sessions have not, by id.

    They lead no partitions, but Metadata and DescribeCluster list them until their sessions end, as in Kafka:
    librdkafka from 2.10 on drops a request to a coordinator whose broker disappears from Metadata.
    """

    @property
    def is_from_controller(self) -> bool:
        """Whether the image holds a controller's metadata update.

        Until the first update, the image of a starting broker holds that broker alone and no topic.
        """
        return self.controller_id != NO_CONTROLLER

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """Return the topic with a 16-byte id, or None.

        Topics made by Kafka before 2.8 have no id and can be found by name only.
        """
        name = self.topic_names.get(topic_id)
        return None if name is None else self.topics[name]

    def partition(self, topic: str, index: int) -> PartitionInfo | None:
        """Return a partition; None if the topic or the index is unknown."""
        image = self.topics.get(topic)
        return None if image is None else image.partitions.get(index)

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Return the dynamic configs of an entity, empty if none are set. `kind` is "topics", "brokers" or
        "groups"; the `name` of a broker may be "<default>".
        """
        return self.entity_configs.get((kind, name), _NOTHING)

    def with_topics(self, changed: Iterable[TopicImage], removed: Collection[str] = ()) -> ClusterImage:
        """Return a copy of this image with topics added or replaced, and other topics removed together with
        their configs.

        The image may hold configs of a removed topic without the topic itself.
        """
        topics, names = dict(self.topics), dict(self.topic_names)
        for topic in changed:
            if topic.name in topics:
                names.pop(topics[topic.name].topic_id, None)
            topics[topic.name] = topic
            if topic.topic_id != ZERO_UUID:
                names[topic.topic_id] = topic.name
        for name in removed:
            if name in topics:
                names.pop(topics.pop(name).topic_id, None)
        configs = self.entity_configs
        if removed:
            gone = {("topics", name) for name in removed}
            configs = {entity: values for entity, values in configs.items() if entity not in gone}
        return replace(self, topics=topics, topic_names=names, entity_configs=configs)

    def with_configs(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> ClusterImage:
        """Return a copy of this image in which the configs of these (kind, name) entities are replaced."""
        return replace(self, entity_configs={**self.entity_configs, **changed})

    def check_invariants(self) -> None:
        """Assert that names and ids map both ways, that leaders are replicas and ISRs subsets of the
        replicas.
        """
        assert {name: topic_id for topic_id, name in self.topic_names.items()} == {
            name: topic.topic_id for name, topic in self.topics.items() if topic.topic_id != ZERO_UUID
        }
        for topic in self.topics.values():
            assert list(topic.partitions) == sorted(topic.partitions), topic.name
            for partition in topic.partitions.values():
                assert set(partition.isr) <= set(partition.replicas), topic.name
                assert partition.leader in (*partition.isr, NO_LEADER), topic.name


class ImageHolder(Protocol):
    """Holder of the broker's current cluster image, such as `MetadataCache`."""

    image: ClusterImage
