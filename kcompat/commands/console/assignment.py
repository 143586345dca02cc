"""Subscriptions and assignments of classic consumer groups, and Kafka's `RangeAssignor`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.topics import TopicPartition

RANGE: Final = "range"
_VERSION: Final = struct.Struct(">h")
_WRITTEN: Final = 1
_NEWEST: Final = 3


def encode_subscription(topics: Iterable[str]) -> bytes:
    """Return the metadata with which a consumer joins."""
    message = ConsumerProtocolSubscription(sorted(topics), None)
    return _VERSION.pack(_WRITTEN) + b"".join(map(bytes, message.encode(_WRITTEN)))


def decode_subscription(data: bytes) -> list[str]:
    """Return the topics in the metadata of a member. Raises ProtocolViolation for other bytes."""
    message = ConsumerProtocolSubscription.decode(memoryview(data), _version(data), _VERSION.size)
    return message.topics


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the assignment that the leader of a group sends to a member."""
    rows = [ConsumerProtocolAssignment.TopicPartition(*row) for row in by_topic(partitions)]
    message = ConsumerProtocolAssignment(rows, None)
    return _VERSION.pack(_WRITTEN) + b"".join(map(bytes, message.encode(_WRITTEN)))


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Return the partitions of an assignment; none for empty bytes. Raises ProtocolViolation."""
    if not data:
        return []
    message = ConsumerProtocolAssignment.decode(memoryview(data), _version(data), _VERSION.size)
    return [(row.topic, index) for row in message.assigned_partitions for index in row.partitions]


def _version(data: bytes) -> int:
    """Return the version by which bytes are read: for an unknown version the newest known one, since versions
    only add fields.
    """
    return min(int(_VERSION.unpack_from(data)[0]), _NEWEST)


def assign_ranges(
    members: Mapping[str, Iterable[str]], partitions: Mapping[str, Iterable[int]]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member.

    Each topic's partitions are split in ranges among the members that subscribed to it, in the order of their
    ids, and the first members get one more if the number is not divisible. `members` are the topics of each
    member, and `partitions` those of each topic.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    for topic, indexes in sorted(partitions.items()):
        subscribers = sorted(member for member, topics in members.items() if topic in topics)
        left = sorted(indexes)
        for place, member in enumerate(subscribers):
            share = -(-len(left) // (len(subscribers) - place))
            assigned[member] += [(topic, index) for index in left[:share]]
            left = left[share:]
    return assigned
