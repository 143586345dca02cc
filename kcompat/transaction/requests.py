"""Requests to the transaction coordinator and its responses as plain values, and their error codes."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kcompat.coordinator.errors import TOO_LARGE, UNAVAILABLE
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.topics import TopicPartition
from kcompat.transaction.transaction import NO_PRODUCER_ID

Errors = dict[TopicPartition, ErrorCode]


class Producer(Struct, frozen=True):
    """A producer id and its epoch."""

    id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH


class InitRequest(Struct, frozen=True):
    """InitProducerId for a transactional id.

    `expected` is the producer id and epoch that the client has, or None for a new client.
    """

    transactional_id: str
    timeout_ms: int
    expected: Producer | None = None


class EndRequest(Struct, frozen=True):
    """EndTxn from a client that uses `client_version` of `transaction.version`."""

    transactional_id: str
    producer: Producer
    commits: bool
    client_version: int = 0


class ProducerAnswer(Struct, frozen=True):
    """The producer id and epoch with which the client continues, or an error."""

    error: ErrorCode = ErrorCode.NONE
    producer: Producer = Producer()


class NeedsProducerId(Struct, frozen=True):
    """Result of an operation that has to run again with an unused producer id."""


_ANSWERS: Final = UNAVAILABLE | TOO_LARGE | {ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE}


def transaction_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a client whose request failed because the append to `__transaction_state` failed
    with `error` (Kafka's `TransactionStateManager`).
    """
    return _ANSWERS.get(error, error)


FIRST_WITH_FENCED: Final = 2
"""First version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn with PRODUCER_FENCED (KIP-588)."""


def known_to(version: int, first_with_fenced: int, error: ErrorCode) -> ErrorCode:
    """Return the error for a client's version of a request: `error`, but INVALID_PRODUCER_EPOCH for
    PRODUCER_FENCED if `version` is below `first_with_fenced`.
    """
    is_new = error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_new else error
