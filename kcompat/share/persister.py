"""Requests to the share coordinator, and its answers, one share partition at a time.

The leader of a partition and the group coordinator ask a `Persister`, which knows where the coordinator is.
Kafka's counterparts: `Persister` and the data classes beside it.
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
"""A number of delivered records that nobody knows."""


class StateWrite(NamedTuple):
    """The deliveries of a share partition since its last write."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    """Start offset of the share partition; -1 leaves the stored one."""
    delivery_complete_count: int
    """How many records after the start offset are acknowledged or archived; -1 if nobody has counted."""
    batches: tuple[StateBatch, ...]


class Outcome(NamedTuple):
    """Whether a change was made. `message` says why not."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class StateRead(NamedTuple):
    """The stored state of a share partition, or the error that keeps it."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    batches: tuple[StateBatch, ...] = ()


class StateSummary(NamedTuple):
    """Where a share partition starts, or the error that keeps it."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = NOT_COUNTED


UNINITIALIZED_SUMMARY = StateSummary(start_offset=NO_OFFSET)
"""The summary of a share partition that is not initialised."""


class Persister(Protocol):
    """Keeps the state of share partitions."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[Outcome]:
        """Begin anew at an offset (-1: not known yet), in a state epoch that fences older ones."""

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateRead]:
        """Read the stored state for a leader, whose epoch fences older ones from now on."""

    def write(self, key: SharePartitionKey, write: StateWrite) -> Promise[Outcome]:
        """Store what was delivered."""

    def delete(self, key: SharePartitionKey) -> Promise[Outcome]:
        """Forget a share partition."""

    def summary(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateSummary]:
        """Where a share partition starts."""
