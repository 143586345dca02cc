"""One operation under way: what it has decided so far. Knows nothing of what the shard holds."""

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
"""The shard as a decision sees it: one on a protocol takes the turn of a shard that fulfils it."""
T = TypeVar("T")


class Turn(Generic[S_co]):
    """Collects the records, answers and follow-ups of one operation on `shard`, which began at `now_ms`.

    Whoever decides a part of the operation is handed the turn and adds to it; `finish` makes the result of it
    that the runtime takes.
    """

    __slots__ = ("_answers", "_appended", "_follow_ups", "_records", "now_ms", "shard")

    def __init__(self, shard: S_co, now_ms: int) -> None:
        self.shard = shard
        self.now_ms = now_ms
        self._answers: list[Answer] = []
        self._records: list[CoordinatorRecord] = []
        self._appended: list[Callable[[Turn[S_co]], None]] = []
        self._follow_ups: list[Callable[[Turn[S_co], ErrorCode], None]] = []

    def answer(self, promise: Promise[T] | None, value: T) -> bool:
        """Answer a parked request once the operation is over; False if there is none."""
        if promise is None:
            return False
        self._answers.append(Answer(promise, value))
        return True

    def write(self, key: Message, value: Message | None) -> None:
        """Write a record; None is a tombstone."""
        self._records.append(CoordinatorRecord(key, value))

    def take_back(self) -> None:
        """Write nothing of what was to be written so far: the operation is refused or another."""
        self._records.clear()
        self._appended.clear()

    def once_appended(self, follow: Callable[[Turn[S_co]], None]) -> None:
        """Run `follow(turn)` when the records are replayed, before anything else happens to the shard."""
        self._appended.append(follow)

    def then(self, follow: Callable[[Turn[S_co], ErrorCode], None]) -> None:
        """Run `follow(turn, error)` when the fate of the records is known: NONE once they are committed."""
        self._follow_ups.append(follow)

    def finish(self, response: T | Promise[T]) -> Result[T]:
        """The operation's result."""
        return Result(
            response,
            self._records,
            partial(_settled, self._follow_ups) if self._follow_ups else None,
            self._answers,
            partial(_appended, self._appended) if self._appended else None,
        )


def _appended(follow_ups: list[Callable[[Turn[S]], None]], shard: S, now_ms: int) -> Result[None]:
    turn = Turn(shard, now_ms)
    for follow in follow_ups:
        follow(turn)
    return turn.finish(None)


def _settled(
    follow_ups: list[Callable[[Turn[S], ErrorCode], None]], shard: S, now_ms: int, error: ErrorCode
) -> Result[None]:
    turn = Turn(shard, now_ms)
    for follow in follow_ups:
        follow(turn, error)
    return turn.finish(None)


def on_turn(decide: Callable[[Turn[S]], T | Promise[T]]) -> ShardOperation[S, T]:
    """The operation that hands `decide` a turn and responds with what it returns."""

    def operation(shard: S, now_ms: int) -> Result[T]:
        turn = Turn(shard, now_ms)
        return turn.finish(decide(turn))

    return operation
