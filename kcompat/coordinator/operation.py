"""The records and results of a coordinator's operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from kcompat.log.append import BY_COORDINATOR
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.log.append import AppendTerms
    from kcompat.promise import Promise
    from kcompat.protocol.message import Message

S = TypeVar("S")
T = TypeVar("T")


class CoordinatorRecord(NamedTuple):
    """Record of a coordinator's topic; a null value is a tombstone."""

    key: Message
    value: Message | None


class ReplayPosition(NamedTuple):
    """Position of a replayed record in the log, and the producer id of the transaction it belongs to (-1:
    none).
    """

    offset: int
    producer_id: int = -1


class Writer(NamedTuple):
    """The producer of a transaction in which records are written, and the terms of the append."""

    producer_id: int
    epoch: int
    terms: AppendTerms = BY_COORDINATOR


class Answer(NamedTuple):
    """The promise of a waiting request, and the value that completes it after the operation."""

    promise: Promise[Any]
    value: Any


Appended = Callable[[Any, int], "Result[None]"]
"""Operation `appended(shard, now_ms) -> Result` that runs as soon as the records are replayed."""

Settled = Callable[[Any, int, ErrorCode], "Result[None]"]
"""Operation `settled(shard, now_ms, error) -> Result` that runs once the records are committed or have
failed.
"""


class Result(Struct, Generic[T]):
    """The decision of an operation.

    `records` are appended as one batch and replayed. `response` is sent once they are committed; without
    records, once everything is committed that the operation may have read, which is mostly at once. A
    response that is a promise is passed on when it is resolved. If the partition is unloaded before the
    records are committed, the runtime answers an unanswered promise. A response of None is not sent and waits
    only for the records.

    `appended` runs before any other operation once the records are replayed, and never if they are refused.
    `settled` runs with NONE once the records are committed, or with the error that prevented it. `answers`
    are sent when the operation is over, before its records are committed, so they must not reveal the
    records.
    """

    response: T | Promise[T]
    records: list[CoordinatorRecord] = []
    settled: Settled | None = None
    answers: list[Answer] = []
    appended: Appended | None = None


ShardOperation = Callable[[S, int], Result[T]]
"""Operation `operation(shard, now_ms) -> Result` that reads the shard and changes nothing that the
log holds.
"""
