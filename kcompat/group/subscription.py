"""The subscriptions of a classic group's consumers, read from the metadata with which they joined."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions; None if one cannot be read.

    Each is an int16 version and a ConsumerProtocolSubscription. Every version begins with the fields of
    version 0, and only those are read, so that a consumer newer than this broker is understood too.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        if len(subscription) < _VERSION.size:
            return None
        try:
            parsed = ConsumerProtocolSubscription.decode(memoryview(subscription), 0, _VERSION.size)
        except ProtocolViolation:
            return None
        topics.update(parsed.topics)
    return frozenset(topics)
