"""The records, answers and follow-ups that one operation decides on, for any kind of shard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.coordinator.operation import Answer, CoordinatorRecord, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import ShardOperation
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.protocol.message import Message

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
"""Type of the shard. It is covariant, so that a function for a shard protocol accepts every
implementation.
"""
T = TypeVar("T")


class Transition(Generic[S_co]):
    """The records, answers and follow-ups of one operation on `shard`, which began at `now_ms`.

    Each function that decides a part of the operation receives the transition and adds to it. `finish` makes
    the `Result` for the runtime.
    """

    __slots__ = ("_answers", "_appended", "_follow_ups", "_records", "now_ms", "shard")

    def __init__(self, shard: S_co, now_ms: int) -> None:
        self.shard = shard
        self.now_ms = now_ms
        self._answers: list[Answer] = []
        self._records: list[CoordinatorRecord] = []
        self._appended: list[Callable[[Transition[S_co]], None]] = []
        self._follow_ups: list[Callable[[Transition[S_co], ErrorCode], None]] = []

    def answer(self, promise: Promise[T] | None, value: T) -> bool:
        """Answer a waiting request after the operation; return False if `promise` is None."""
        if promise is None:
            return False
        self._answers.append(Answer(promise, value))
        return True

    def write(self, key: Message, value: Message | None) -> None:
        """Add a record to write; a `value` of None is a tombstone."""
        self._records.append(CoordinatorRecord(key, value))

    def take_back(self) -> None:
        """Drop the records and the `once_appended` calls so far, because the operation is refused or
        replaced.
        """
        self._records.clear()
        self._appended.clear()

    def once_appended(self, follow: Callable[[Transition[S_co]], None]) -> None:
        """Run `follow(transition)` once the records are replayed, before the next operation of the shard."""
        self._appended.append(follow)

    def then(self, follow: Callable[[Transition[S_co], ErrorCode], None]) -> None:
        """Run `follow(transition, error)` once the records are committed (error NONE) or have failed."""
        self._follow_ups.append(follow)

    def finish(self, response: T | Promise[T]) -> Result[T]:
        """Return the result of the operation, with `response` as its response."""
        return Result(
            response,
            self._records,
            partial(_settled, self._follow_ups) if self._follow_ups else None,
            self._answers,
            partial(_appended, self._appended) if self._appended else None,
        )


def _appended(follow_ups: list[Callable[[Transition[S]], None]], shard: S, now_ms: int) -> Result[None]:
    transition = Transition(shard, now_ms)
    for follow in follow_ups:
        follow(transition)
    return transition.finish(None)


def _settled(
    follow_ups: list[Callable[[Transition[S], ErrorCode], None]], shard: S, now_ms: int, error: ErrorCode
) -> Result[None]:
    transition = Transition(shard, now_ms)
    for follow in follow_ups:
        follow(transition, error)
    return transition.finish(None)


def as_operation(decide: Callable[[Transition[S]], T | Promise[T]]) -> ShardOperation[S, T]:
    """Return an operation that runs `decide` on a new transition and responds with its result."""

    def operation(shard: S, now_ms: int) -> Result[T]:
        transition = Transition(shard, now_ms)
        return transition.finish(decide(transition))

    return operation
