"""The hash by which groups detect changes of their topics.

Groups have the hash in their records, so it is the same number as Kafka's for the same cluster. Kafka's
counterparts: `Utils.computeTopicHash` and `computeGroupHash`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.group.modern.xxh3 import xxh3_64
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.cluster.image import ClusterImage, TopicImage

_HASH_FORM = b"\0"
_INT = struct.Struct("<i")
_LONG = struct.Struct("<q")


def existing(image: ClusterImage, names: Iterable[str]) -> Iterator[TopicImage]:
    """Return the topics that exist and have an id; topics made by Kafka before 2.8 have none and are not
    assigned.
    """
    for name in names:
        topic = image.topics.get(name)
        if topic is not None and topic.topic_id != ZERO_UUID:
            yield topic


def existing_ids(image: ClusterImage, names: Iterable[str]) -> frozenset[bytes]:
    """Return the ids of the topics that exist."""
    return frozenset(topic.topic_id for topic in existing(image, names))


class TopicHashes:
    """Hashes of topics, each computed once for each image of its topic."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[TopicImage, int]] = {}

    def of(self, names: Iterable[str], image: ClusterImage) -> int:
        """Return the hash of all existing topics among `names`; 0 if none exists."""
        hashes = {topic.name: self._hash(topic, image) for topic in existing(image, names)}
        if not hashes:
            return 0
        return xxh3_64(b"".join(_LONG.pack(hashes[name]) for name in sorted(hashes, key=java_order)))

    def _hash(self, topic: TopicImage, image: ClusterImage) -> int:
        known = self._known.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        value = topic_hash(topic, image)
        self._known[topic.name] = (topic, value)
        return value


def topic_hash(topic: TopicImage, image: ClusterImage) -> int:
    """Return the hash of a topic's id, name, number of partitions, and the racks of each partition's
    replicas.
    """
    parts = [_HASH_FORM, topic.topic_id[7::-1], topic.topic_id[:7:-1], _text(topic.name)]
    parts.append(_INT.pack(len(topic.partitions)))
    for index, partition in topic.partitions.items():
        parts.append(_INT.pack(index))
        brokers = (image.brokers.get(replica) for replica in partition.replicas)
        racks = [broker.rack for broker in brokers if broker is not None and broker.rack is not None]
        for rack in sorted(racks, key=java_order):
            parts += (_INT.pack(_length(rack)), _text(rack))
    return xxh3_64(b"".join(parts))


def java_order(text: str) -> bytes:
    """Return a key that sorts strings as Java does: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(text: str) -> bytes:
    """Return a string as Kafka's hash reads it: its UTF-16 code units, followed by their number."""
    return text.encode("utf-16-le", "surrogatepass") + _INT.pack(_length(text))
