"""Errors sent to clients after a failed append to `__consumer_offsets` (Kafka's `GroupMetadataManager`)."""

from __future__ import annotations

from kcompat.coordinator.errors import TOO_LARGE, UNAVAILABLE
from kcompat.protocol.errors import ErrorCode

_COMMIT = UNAVAILABLE | {
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}
_RECORD = UNAVAILABLE | TOO_LARGE | {ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR}
_GROUP = _RECORD | {ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS}
_MODERN = _RECORD | {ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE}


def commit_error(error: ErrorCode) -> ErrorCode:
    """Return the error for an offset commit whose append failed with `error`; `error` itself if Kafka does
    not translate it.
    """
    return _COMMIT.get(error, error)


def group_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a request whose group record failed with `error`; `error` itself if Kafka does not
    translate it.
    """
    return _GROUP.get(error, error)


def modern_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a heartbeat whose records failed with `error` (Kafka 4's
    `GroupCoordinatorService`).
    """
    return _MODERN.get(error, error)
