"""The claim of a producer to write in a transaction, and the port that verifies it (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.topics import TopicPartition


class Claim(NamedTuple):
    """A producer and its transaction."""

    transactional_id: str
    producer_id: int
    epoch: int
    adds: bool = False
    """Whether a write to a partition adds the partition to the transaction (`transaction.version` 2)."""
    knows_abortable: bool = False
    """Whether the client understands the error TRANSACTION_ABORTABLE."""


class Verifier(Protocol):
    """The port to the transaction coordinator."""

    @property
    def is_required(self) -> bool:
        """Whether claims have to be verified (`transaction.partition.verification.enable`)."""

    def ask(
        self, claim: Claim, partitions: Collection[TopicPartition]
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        """Add or verify these partitions; return the errors of those that are not in the transaction."""
