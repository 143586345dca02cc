"""Ports through which share partitions use the rest of the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.protocol.message import Message
    from kcompat.replication.partition import Partition
    from kcompat.share.partition.limits import ShareLimits


class Replicas(Protocol):
    """The partitions of this broker."""

    def find(self, topic: str, index: int) -> Partition | ErrorCode:
        """Return a partition, or the error that a request for the partition gets from this broker."""


class PeerPort(Protocol):
    """Client to another broker; `PeerClient` implements it."""

    def call(self, request: Message, timeout_ms: float) -> Promise[Any]:
        """Return a promise of the response to a request; the promise fails with `PeerError`."""


class PeersPort(Protocol):
    """Clients to the other brokers."""

    def of(self, broker_id: int, purpose: str) -> PeerPort:
        """Return the client for requests of one purpose to a broker."""


class ShareSettings(Protocol):
    """The effective settings of share groups."""

    def limits(self, group_id: str) -> ShareLimits:
        """Return the limits of each share partition of the group."""

    def isolation_level(self, group_id: str) -> int:
        """Return the isolation level of the group (`share.isolation.level`), as in FetchRequest."""

    def start_timestamp(self, group_id: str, now_ms: int) -> int:
        """Return the start of a new share partition of the group (`share.auto.offset.reset`), as a timestamp
        in ms or a special timestamp of ListOffsets.
        """
