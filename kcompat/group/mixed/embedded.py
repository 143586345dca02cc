"""The consumer protocol inside the classic one: the bytes that members and leaders exchange.

The bytes start with an int16 version, followed by a message in that version. Kafka's counterpart:
`ConsumerProtocol`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kcompat.group.assignors.spec import NO_PARTITIONS, partitions
from kcompat.group.modern.topics import existing
from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.protocol.message import Message

    M = TypeVar("M", bound=Message)

_VERSION = struct.Struct(">h")
_NEWEST = 3
"""Newest known version; newer versions start with the fields of this one."""

_Row = ConsumerProtocolAssignment.TopicPartition


class Subscribed(Struct, frozen=True):
    """Topics that a member subscribes to, and partitions that it reports to own, by topic id."""

    topics: frozenset[str]
    owned: Mapping[bytes, frozenset[int]]
    rack_id: str | None


def read_subscription(text: bytes, image: ClusterImage) -> Subscribed | None:
    """Return the subscription in a member's metadata; None if it cannot be read."""
    found = read_message(ConsumerProtocolSubscription, text)
    if found is None:
        return None
    owned = _by_id(((row.topic, row.partitions) for row in found.owned_partitions), image)
    return Subscribed(frozenset(found.topics), owned, found.rack_id)


class Assigned(Struct, frozen=True):
    """Partitions that a leader has assigned to a member, by topic id.

    `for_assignor` says whether the bytes have more fields, which only the leader's assignor understands.
    """

    partitions: Mapping[bytes, frozenset[int]] = NO_PARTITIONS
    for_assignor: bool = False


def read_assignment(text: bytes, image: ClusterImage) -> Assigned | None:
    """Return the assignment of a member, empty before it has one; None if it cannot be read."""
    if not text:
        return Assigned()
    found = read_message(ConsumerProtocolAssignment, text)
    if found is None:
        return None
    assigned = _by_id(((row.topic, row.partitions) for row in found.assigned_partitions), image)
    return Assigned(assigned, bool(found.user_data))


def write_assignment(
    assigned: Mapping[bytes, Iterable[int]], subscription: bytes, image: ClusterImage
) -> bytes:
    """Return the assignment of a member as bytes, in the version that its subscription has."""
    version = max(0, min(_version(subscription) or 0, _NEWEST))
    rows = [
        _Row(image.topic_names[topic_id], sorted(indexes))
        for topic_id, indexes in assigned.items()
        if topic_id in image.topic_names
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=rows)
    return _VERSION.pack(version) + b"".join(bytes(part) for part in message.encode(version))


def _by_id(rows: Iterable[tuple[str, Iterable[int]]], image: ClusterImage) -> Mapping[bytes, frozenset[int]]:
    """Return the partitions of existing topics by id."""
    named = dict(rows)
    return partitions((topic.topic_id, named[topic.name]) for topic in existing(image, named))


def _version(text: bytes) -> int | None:
    return _VERSION.unpack_from(text)[0] if len(text) >= _VERSION.size else None


def read_message(kind: type[M], text: bytes) -> M | None:
    """Return a subscription or an assignment in any version; None if it cannot be read."""
    version = _version(text)
    if version is None or version < 0:
        return None
    try:
        return kind.decode(memoryview(text), min(version, _NEWEST), _VERSION.size)
    except ProtocolViolation:
        return None
