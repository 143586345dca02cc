"""What a failed append to `__transaction_state` means to the client (Kafka's `TransactionStateManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

_ANSWERS: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def transaction_error(error: ErrorCode) -> ErrorCode:
    """The answer to a request whose record failed with `error`; other errors stay as they are."""
    return _ANSWERS.get(error, error)


FIRST_WITH_FENCED: Final = 2
"""The version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that knows PRODUCER_FENCED (KIP-588)."""


def known_to(version: int, first_with_fenced: int, error: ErrorCode) -> ErrorCode:
    """The error as a client of this version knows it."""
    is_new = error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_new else error
