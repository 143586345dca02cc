"""Whether a producer's transaction has a partition, as the partition's log has to know before it lets the
producer write there (KIP-890). Pure.

Who wants to write begins a verification here, asks the transaction coordinator, and comes back with it. It
counts once: for the first batch of the transaction here, and only if no transaction of the producer has ended
here meanwhile. So an answer that is late opens no transaction that nobody would end.

Kafka's counterparts: `VerificationStateEntry` and `VerificationGuard`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader


VERSION_2: Final = 2
"""The `transaction.version` from which partitions are added by being written to, and the epoch of a producer
rises with each end of a transaction: a marker has a higher one than the records before it (KIP-890)."""


class VerificationGuard:
    """A question to the coordinator: has the transaction of one producer this partition?

    An append after the answer passes this object as its proof.
    """

    __slots__ = ("adds", "began_ms", "epoch", "lowest_sequence")

    def __init__(self, epoch: int, sequence: int, now_ms: int, *, adds: bool) -> None:
        """`adds`: the coordinator is asked to add the partition, by a producer whose epoch rises with each
        transaction (`transaction.version` 2).
        """
        self.epoch = epoch
        self.lowest_sequence = sequence
        """The batch to come first: one with a higher sequence may overtake it on its way."""
        self.began_ms = now_ms
        self.adds = adds

    def note(self, epoch: int, sequence: int) -> None:
        """Another batch waits for the same answer."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence

    def outlasts(self, header: BatchHeader) -> bool:
        """Whether it still counts after this batch of the producer was written: only where that is the marker
        of the transaction before, which has the epoch that the next one goes by.
        """
        return self.adds and header.is_control and header.producer_epoch == self.epoch
