"""The consumer protocol inside the classic one: the texts by which consumers subscribe and are assigned."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Partitions = frozenset[tuple[str, int]]
_VERSION = struct.Struct(">h")


def subscription(
    topics: Iterable[str], owned: Partitions = frozenset(), *, version: int = 3, rack_id: str | None = None
) -> bytes:
    """Return the metadata with which a consumer joins a classic group."""
    rows = [
        ConsumerProtocolSubscription.TopicPartition(topic, sorted(indexes))
        for topic, indexes in _by_topic(owned).items()
    ]
    message = ConsumerProtocolSubscription(sorted(topics), None, rows, -1, rack_id)
    return _VERSION.pack(version) + b"".join(map(bytes, message.encode(version)))


def assignment(partitions: Partitions, *, version: int = 3, user_data: bytes | None = None) -> bytes:
    """Return the assignment that the leader of a classic group sends to a member."""
    rows = [
        ConsumerProtocolAssignment.TopicPartition(topic, sorted(indexes))
        for topic, indexes in _by_topic(partitions).items()
    ]
    message = ConsumerProtocolAssignment(rows, user_data)
    return _VERSION.pack(version) + b"".join(map(bytes, message.encode(version)))


def assigned(text: bytes) -> Partitions:
    """Return the partitions in an assignment."""
    version = _VERSION.unpack_from(text)[0]
    message = ConsumerProtocolAssignment.decode(memoryview(text), version, _VERSION.size)
    return frozenset((row.topic, index) for row in message.assigned_partitions for index in row.partitions)


def _by_topic(partitions: Partitions) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        found.setdefault(topic, []).append(index)
    return found
