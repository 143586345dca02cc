"""One operation under way: what it has decided so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat.coordinator.operation import Answer, CoordinatorRecord, Result
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.group.classic.group import ClassicGroup
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.shard import GroupShard
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.protocol.messages.group_records import GroupMetadataValue
    from kcompat.protocol.schema import Message

T = TypeVar("T")


class Turn:
    """Collects the records, answers and follow-ups of one operation on a shard."""

    __slots__ = ("_answers", "_records", "_settled", "now_ms", "shard")

    def __init__(self, shard: GroupShard, now_ms: int) -> None:
        self.shard = shard
        self.now_ms = now_ms
        self._answers: list[Answer] = []
        self._records: list[CoordinatorRecord] = []
        self._settled: list[Callable[[Turn, ErrorCode], None]] = []

    @property
    def timers(self) -> KeyedTimers:
        """The shard's timers."""
        return self.shard.timers

    @property
    def config(self) -> GroupCoordinatorConfig:
        """The group settings."""
        return self.shard.config

    def answer(self, promise: Promise[T] | None, value: T) -> bool:
        """Answer a parked request once the operation is over; False if there is none."""
        if promise is None:
            return False
        self._answers.append(Answer(promise, value))
        return True

    def write(self, key: Message, value: Message | None) -> None:
        """Write a record; None is a tombstone."""
        self._records.append(CoordinatorRecord(key, value))

    def store(self, group: ClassicGroup, value: GroupMetadataValue) -> None:
        """Write the group's record."""
        self.write(GroupMetadataKey(group=group.group_id), value)

    def then(self, follow: Callable[[Turn, ErrorCode], None]) -> None:
        """Run `follow(turn, error)` when the fate of the records is known: NONE once they are committed."""
        self._settled.append(follow)

    def finish(self, response: T | Promise[T]) -> Result[T]:
        """The operation's result."""
        settled = self._settled

        def follow(shard: GroupShard, now_ms: int, error: ErrorCode) -> Result[None]:
            turn = Turn(shard, now_ms)
            for then in settled:
                then(turn, error)
            return turn.finish(None)

        return Result(response, self._records, follow if settled else None, self._answers)
