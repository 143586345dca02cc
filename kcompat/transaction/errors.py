"""The errors that tell clients of a failed append to `__transaction_state` (Kafka's
`TransactionStateManager`).
"""

from __future__ import annotations

from typing import Final

from kcompat.coordinator.errors import TOO_LARGE, UNAVAILABLE
from kcompat.protocol.errors import ErrorCode

_ANSWERS: Final = UNAVAILABLE | TOO_LARGE | {ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE}


def transaction_error(error: ErrorCode) -> ErrorCode:
    """The answer to a request whose record failed with `error`; other errors stay as they are."""
    return _ANSWERS.get(error, error)


FIRST_WITH_FENCED: Final = 2
"""The version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that knows PRODUCER_FENCED (KIP-588)."""


def known_to(version: int, first_with_fenced: int, error: ErrorCode) -> ErrorCode:
    """The error as a client of this version knows it."""
    is_new = error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_new else error
