"""Terms on which a batch is appended to a log, and the result of the append."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from kcompat.log.verification import VerificationGuard
    from kcompat.protocol.errors import ErrorCode
    from kcompat.records.control import EndTransactionMarker

NO_APPEND_TIME: Final = -1
NO_OFFSET: Final = -1


class AppendResult(msgspec.Struct, frozen=True, gc=False):
    """Result of one append.

    `append_time_ms` is -1 where the timestamps are the producer's. For a duplicate it is the timestamp of the
    batch that the log already has.
    """

    error: ErrorCode
    base_offset: int
    last_offset: int
    append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


class AppendTerms(msgspec.Struct, frozen=True, gc=False):
    """Terms of an append: whether its batch has sequence numbers, and how its transaction is verified."""

    is_client: bool = True
    """Whether the batch has sequence numbers of a producer; batches of a coordinator have none."""
    proof: VerificationGuard | None = None
    """Guard of the verification that the partition is in the transaction (KIP-890); None without one."""
    needs_proof: bool = True
    """Whether a transaction may begin in this partition only after the coordinator has confirmed that it
    includes the partition."""
    transaction_version: int = 0
    """`transaction.version` of the producer whose transaction a marker ends. With 2 the marker's epoch is
    higher than the epoch of the records.
    """
    marker: EndTransactionMarker | None = None
    """The marker in the batch, if this broker made it; None if it has to be read from the batch."""


BY_CLIENT: Final = AppendTerms()
BY_COORDINATOR: Final = AppendTerms(is_client=False)
WITHOUT_PROOF: Final = AppendTerms(needs_proof=False)
"""Terms for a client while `transaction.partition.verification.enable` is false."""
UNVERIFIED: Final = AppendTerms(is_client=False, needs_proof=False)
"""Terms for a coordinator while `transaction.partition.verification.enable` is false."""
