"""Requests to the share coordinator and its responses, for one share partition at a time.

The leader of a partition and the group coordinator use a `Persister`, which finds the coordinator. Kafka's
counterparts: `Persister` and the data classes beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import NO_OFFSET

if TYPE_CHECKING:
    from kcompat.promise import Promise
    from kcompat.share.batches import StateBatch
    from kcompat.share.key import SharePartitionKey

NOT_COUNTED = -1
"""Value of `delivery_complete_count` if the number is unknown."""


class StateWrite(NamedTuple):
    """The deliveries of a share partition since its last write."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    """Start offset of the share partition; -1 keeps the stored one."""
    delivery_complete_count: int
    """Number of records after the start offset that are acknowledged or archived; -1 if unknown."""
    batches: tuple[StateBatch, ...]


class Outcome(NamedTuple):
    """Result of a change: NONE, or an error with an explanation in `message`."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class StateRead(NamedTuple):
    """The stored state of a share partition, or the error that prevented the read."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    batches: tuple[StateBatch, ...] = ()


class StateSummary(NamedTuple):
    """Start offset and epochs of a share partition, or the error that prevented the read."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = NOT_COUNTED


UNINITIALIZED_SUMMARY = StateSummary(start_offset=NO_OFFSET)
"""Summary of a share partition that is not initialized."""


class Persister(Protocol):
    """Port to the storage of share partitions' state."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[Outcome]:
        """Reset the state to an offset (-1: unknown yet), in a state epoch that fences older ones."""

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateRead]:
        """Read the stored state for a leader, whose leader epoch fences older leaders from now on."""

    def write(self, key: SharePartitionKey, write: StateWrite) -> Promise[Outcome]:
        """Store the deliveries of a share partition."""

    def delete(self, key: SharePartitionKey) -> Promise[Outcome]:
        """Delete the state of a share partition."""

    def summary(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateSummary]:
        """Read the start offset of a share partition."""
