"""Ports that all partitions of a broker share: time, delayed requests, and proposals to the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.clock import Clock
    from kcompat.log.log import Log
    from kcompat.replication.isr import IsrOwner, Pending
    from kcompat.replication.leading.leader import IsrRule
    from kcompat.replication.purgatory import Purgatory


class PartitionPorts(Struct):
    """Ports of the partitions of one broker. A partition is the key that its delayed requests wait on."""

    broker_id: int
    clock: Clock
    rule: IsrRule
    produces: Purgatory
    """Produces, woken when the high watermark moves."""
    fetches: Purgatory
    """Fetches of consumers, woken when there is something new for them."""
    replica_fetches: Purgatory
    """Fetches of followers, woken by every append."""
    deletions: Purgatory
    """DeleteRecords, woken when a log start moves, here or on a follower."""
    leadership_checks: Purgatory
    """Coordinators that ask whether this broker still leads, woken by every fetch of a follower."""
    propose: Callable[[IsrOwner, Pending], object] | None = None
    """Proposes another ISR to the controller; None as long as no controller is known."""

    def wake_all(self, key: Hashable) -> None:
        """Wake every request that waits on `key`: its role has changed."""
        self.produces.wake(key)
        self.fetches.wake(key)
        self.replica_fetches.wake(key)
        self.deletions.wake(key)
        self.leadership_checks.wake(key)


class FutureLog(Protocol):
    """Copy of a partition's log in another log directory, which is to replace the log."""

    @property
    def log(self) -> Log:
        """The log that grows in the other directory."""

    def original_cut(self, offset: int) -> None:
        """Note that the log of the partition was truncated to `offset`: the copy may have records above it
        that the log no longer has.
        """
