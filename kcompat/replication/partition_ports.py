"""Ports that all partitions of a broker share: time, delayed requests, and proposals to the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from kcompat.replication.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.clock import Clock
    from kcompat.log.log import Log
    from kcompat.replication.isr import IsrOwner, Pending
    from kcompat.replication.leading.leader import IsrRule
    from kcompat.replication.purgatory import Purgatory


class PartitionPorts(Struct):
    """Ports of the partitions of one broker. The `Partition` itself is the key that its delayed requests wait
    on.
    """

    broker_id: int
    clock: Clock
    rule: IsrRule
    produces: Purgatory
    """Delayed Produce requests, woken when the high watermark moves."""
    fetches: Purgatory
    """Delayed fetches of consumers, woken when new records become readable."""
    replica_fetches: Purgatory
    """Delayed fetches of followers, woken by every append."""
    deletions: Purgatory
    """Delayed DeleteRecords requests, woken when a log start moves, here or on a follower."""
    leadership_checks: Purgatory
    """Delayed requests of coordinators that confirm this broker's leadership first, woken by every fetch of a
    follower.
    """
    statistics: Statistics = field(default_factory=Statistics)
    propose: Callable[[IsrOwner, Pending], object] | None = None
    """Function that proposes another ISR to the controller; None as long as no controller is known."""

    def wake_all(self, key: Hashable) -> None:
        """Wake every request that waits on `key`, after the role of the partition has changed."""
        self.produces.wake(key)
        self.fetches.wake(key)
        self.replica_fetches.wake(key)
        self.deletions.wake(key)
        self.leadership_checks.wake(key)


class FutureLog(Protocol):
    """Copy of a partition's log in another log directory, which is to replace the log."""

    @property
    def log(self) -> Log:
        """The log in the other directory."""

    def original_cut(self, offset: int) -> None:
        """Handle a truncation of the partition's log to `offset`: the copy may have records that the log no
        longer has.
        """
