"""The smallest coordinator there is, a register for each key, on virtual time with its log in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition, Result
from kcompat.coordinator.runtime import Runtime
from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ProtocolViolation, string
from support.coordinator_log import MemoryCoordinatorLog
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import Settled, ShardOperation
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.coordinator.transition import Transition
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode


@message("0")
class Text(Message):
    """A key or a value."""

    text: Annotated[str, string("0+")] = ""


class TextSerde:
    """Keys and values as plain text; a key in brackets is one nobody knows."""

    def serialize(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        assert isinstance(record.key, Text)
        assert isinstance(record.value, Text | None)
        return record.key.text.encode(), None if record.value is None else record.value.text.encode()

    def deserialize(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        if key.startswith(b"["):
            return None
        if key.startswith(b"!"):
            raise ProtocolViolation("damaged")
        return CoordinatorRecord(Text(key.decode()), None if value is None else Text(value.decode()))


class Registers:
    """A shard that keeps the last value of each key."""

    def __init__(self, timers: KeyedTimers) -> None:
        self.timers = timers
        self.latest: dict[str, str | None] = {}
        self.replayed: list[tuple[str, int, int]] = []
        self.ended: list[tuple[int, bool, int]] = []
        self.offsets: list[int] = []
        """Offsets of all replayed records and markers, in order."""
        self.committed_to = -1
        self.loaded_at: int | None = None
        self.parked: list[Promise[Any]] = []

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        assert isinstance(record.key, Text)
        assert isinstance(record.value, Text | None)
        self.latest[record.key.text] = None if record.value is None else record.value.text
        self.offsets.append(position.offset)
        self.replayed.append((record.key.text, *position))

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        self.offsets.append(offset)
        self.ended.append((producer_id, committed, offset))

    def committed(self, offset: int) -> None:
        self.committed_to = max(offset, self.committed_to)

    def loaded(self, now_ms: int) -> None:
        self.loaded_at = now_ms

    def unloaded(self) -> list[Answer]:
        return [Answer(promise, "moved") for promise in self.parked]

    def check_invariants(self) -> None:
        pass


def put(
    key: str, *values: str, response: Any = "ok", settled: Settled | None = None
) -> ShardOperation[Registers, Any]:
    def operation(_shard: Registers, _now_ms: int) -> Result[Any]:
        return Result(response, [CoordinatorRecord(Text(key), Text(value)) for value in values], settled)

    return operation


def failed(error: ErrorCode) -> Any:
    return f"failed {error.name}"


class RegisterFixture:
    """A runtime of registers; `load` and `write` are of partition 0."""

    def __init__(
        self,
        make_shard: Callable[[KeyedTimers], Registers] = Registers,
        log: MemoryCoordinatorLog | None = None,
        *,
        is_keyed: bool = True,
    ) -> None:
        self.clock = VirtualClock()
        self.log = log or MemoryCoordinatorLog()
        self.runtime: Runtime[Registers] = Runtime(
            self.log,
            TextSerde(),
            self.clock,
            lambda _, timers: make_shard(timers),
            5000,
            is_keyed=is_keyed,
        )

    def load(self) -> Registers:
        self.runtime.load(0, leader_epoch=1)
        return dict(self.runtime.active())[0]

    def write(self, operation: ShardOperation[Registers, Any]) -> Promise[Any]:
        return self.runtime.write(0, operation, failed)

    def run(self, decide: Callable[[Transition[Registers]], Any]) -> Promise[Any]:
        return self.runtime.run(0, decide, failed)
