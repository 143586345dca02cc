"""Verification that a producer's transaction includes a partition, before the partition's log accepts a write
(KIP-890). Pure.

A write begins a verification here, the transaction coordinator is asked, and the append then passes the
verification as its proof.

A verification is valid once: for the first batch of the transaction in this log, and only if no transaction
of the producer has ended here meanwhile. So a late answer cannot open a transaction that would never be
ended. Kafka's counterparts: `VerificationStateEntry` and `VerificationGuard`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader


VERSION_2: Final = 2
"""The `transaction.version` from which a write adds its partition to the transaction (KIP-890). Each end of a
transaction then raises the producer's epoch, so a marker has a higher epoch than the records before it."""


class VerificationGuard:
    """A pending verification that the transaction of one producer includes this partition.

    An append after the answer passes this object as its proof.
    """

    __slots__ = ("adds", "began_ms", "epoch", "lowest_sequence")

    def __init__(self, epoch: int, sequence: int, now_ms: int, *, adds: bool) -> None:
        """Begin a verification. `adds` means that the coordinator is to add the partition.

        That is for producers whose epoch rises with each transaction (`transaction.version` 2).
        """
        self.epoch = epoch
        self.lowest_sequence = sequence
        """Sequence of the batch that has to be written first; batches with higher sequences may arrive
        earlier."""
        self.began_ms = now_ms
        self.adds = adds

    def note(self, epoch: int, sequence: int) -> None:
        """Record another batch that waits for the same answer."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence

    def outlasts(self, header: BatchHeader) -> bool:
        """Return whether the verification stays valid after a batch of the producer was written.

        It does only after the previous transaction's marker, which has the epoch of the next transaction.
        """
        return self.adds and header.is_control and header.producer_epoch == self.epoch
