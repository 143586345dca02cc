"""Ports of coordinators to their state, to their log, and to the verification of transactions (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kcompat.log.append import BY_COORDINATOR

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition
    from kcompat.log.append import AppendTerms
    from kcompat.log.verification import VerificationGuard
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.topics import TopicPartition


class Shard(Protocol):
    """The state kept in one partition of a coordinator's topic.

    Only `replay` and `replay_end_transaction` change the logged part of the state.
    """

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        """Apply one record that was read from the log or just appended."""

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        """Apply a transaction marker at `offset`."""

    def committed(self, offset: int) -> None:
        """Make the changes up to `offset` visible to readers, once the shard is loaded."""

    def loaded(self, now_ms: int) -> None:
        """Begin to serve requests after the whole log is replayed and committed. Session timers start now."""

    def unloaded(self) -> list[Answer]:
        """Return the answers to all waiting requests, after the partition has left this broker."""

    def check_invariants(self) -> None:
        """Assert the invariants of the shard."""


class Serde(Protocol):
    """The record formats of one coordinator's topic."""

    def serialize(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return key and value as bytes of a log record."""

    def deserialize(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """Return the record, or None for an unknown type of key. Raises ProtocolViolation on damage."""


class CoordinatorLog(Protocol):
    """The partitions of a coordinator's topic that this broker leads."""

    @property
    def topic(self) -> str:
        """Name of the topic."""

    def append(
        self, partition: int, batch: bytearray, now_ms: int, terms: AppendTerms = BY_COORDINATOR
    ) -> tuple[ErrorCode, int]:
        """Append one batch with acks=all; return NONE and its last offset, or the error of a
        produce and -1.
        """

    def begin_verification(
        self, partition: int, producer_id: int, epoch: int, now_ms: int, *, adds: bool
    ) -> VerificationGuard | ErrorCode:
        """Return the verification that a producer needs before it writes in a transaction.

        Returns NONE if the producer is verified already, or the error that refuses it.
        """

    def when_committed(self, partition: int, offset: int) -> Promise[ErrorCode]:
        """Return a promise of NONE once the high watermark has passed `offset`, or of the error that prevents
        it.
        """

    def still_leads(self, partition: int, timeout_ms: float) -> Promise[ErrorCode]:
        """Promise NONE once it is certain that no other broker led the partition at the time of the call, or
        the error that prevents this.
        """

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Read bytes from the batch that contains `offset` on, at most `max_bytes` unless the first batch is
        larger.

        The last batch may be truncated. The result is empty only at the log end. Raises StorageError if the
        disk fails.
        """

    def start_offset(self, partition: int) -> int:
        """Return the log start offset."""

    def end_offset(self, partition: int) -> int:
        """Return the log end offset."""


class Claim(NamedTuple):
    """A producer and the transaction in which it claims to write."""

    transactional_id: str
    producer_id: int
    epoch: int
    adds: bool = False
    """Whether a write to a partition adds the partition to the transaction (`transaction.version` 2)."""
    knows_abortable: bool = False
    """Whether the client understands the error TRANSACTION_ABORTABLE."""


class Verifier(Protocol):
    """The port to the transaction coordinator, which verifies claims (KIP-890)."""

    @property
    def is_required(self) -> bool:
        """Whether claims have to be verified (`transaction.partition.verification.enable`)."""

    def ask(
        self, claim: Claim, partitions: Collection[TopicPartition]
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        """Add or verify these partitions; promise the errors of those that are not in the transaction."""
