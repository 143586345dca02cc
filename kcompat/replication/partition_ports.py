"""What all partitions of a broker have in common: whom they are on, time, and who is told or woken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.log.log import Log
    from kcompat.replication.isr import IsrOwner, Pending
    from kcompat.replication.leading.leader import IsrRule
    from kcompat.replication.purgatory import Purgatory


class Surroundings(Struct):
    """The ports of the partitions of one broker. A partition is the key that delayed requests wait on."""

    broker_id: int
    clock: Clock
    rule: IsrRule
    produces: Purgatory
    """Woken when the high watermark moves."""
    fetches: Purgatory
    """Consumers; woken when there is something new for them."""
    replica_fetches: Purgatory
    """Followers; woken by every append."""
    deletions: Purgatory
    """Woken when a log start moves, here or on a follower."""
    questions: Purgatory
    """Who wants to know whether this broker still leads; woken by every fetch of a follower."""
    propose: Callable[[IsrOwner, Pending], object] | None = None
    """Asks the controller for another ISR; None while there is nobody to ask."""


class Copy(Protocol):
    """What is to replace the log of a partition, as the partition sees it."""

    @property
    def log(self) -> Log:
        """The log of the copy."""

    def original_cut(self, offset: int) -> None:
        """The log of the partition was cut: it may not have what lies above `offset` in the copy."""
