"""The runtime with the smallest coordinator there is: a register per key."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition, Result
from kcompat.coordinator.runtime import INLINE_LOAD_BYTES, LOAD_SLICE_BYTES, Runtime
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.schema import Message, ProtocolViolation, message, string
from kcompat.records.batch import build_batch
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.coordinator_log import MemoryCoordinatorLog
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import Settled, ShardOperation
    from kcompat.coordinator.timer import KeyedTimers


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
    """What was written last under each key."""

    def __init__(self, timers: KeyedTimers) -> None:
        self.timers = timers
        self.latest: dict[str, str | None] = {}
        self.replayed: list[tuple[str, int, int]] = []
        self.ended: list[tuple[int, bool, int]] = []
        self.committed_to = -1
        self.loaded_at: int | None = None
        self.parked: list[Promise[Any]] = []

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        assert isinstance(record.key, Text)
        assert isinstance(record.value, Text | None)
        self.latest[record.key.text] = None if record.value is None else record.value.text
        self.replayed.append((record.key.text, *position))

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        self.ended.append((producer_id, committed, offset))

    def committed(self, offset: int) -> None:
        self.committed_to = max(offset, self.committed_to)

    def loaded(self, now_ms: int) -> None:
        self.loaded_at = now_ms

    def unloaded(self) -> list[tuple[Promise[Any], Any]]:
        return [(promise, "moved") for promise in self.parked]

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


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.log = MemoryCoordinatorLog()
        self.runtime: Runtime[Registers] = Runtime(self.log, TextSerde(), self.clock, Registers, 5000)

    def load(self) -> Registers:
        self.runtime.load(0, leader_epoch=1)
        return dict(self.runtime.active())[0]

    def write(self, operation: ShardOperation[Registers, Any]) -> Promise[Any]:
        return self.runtime.write(0, operation, failed)


@pytest.fixture
def world() -> World:
    return World()


def test_a_write_is_answered_at_once_when_it_is_committed_at_once(world: World) -> None:
    shard = world.load()
    assert world.write(put("a", "1", "2")).value == "ok"
    assert shard.replayed == [("a", 0, -1), ("a", 1, -1)]
    assert shard.committed_to == 1
    assert world.log.batch_count(0) == 1


def test_an_operation_sees_what_the_one_before_it_wrote(world: World) -> None:
    world.load()
    world.log.hold()
    world.write(put("a", "1"))

    def read_latest(shard: Registers, _now_ms: int) -> Result[str | None]:
        return Result(shard.latest["a"])

    assert world.runtime.write(0, read_latest, lambda _: None).value == "1"


def test_a_write_waits_for_its_commit(world: World) -> None:
    shard = world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    assert not answer.done
    assert shard.latest == {"a": "1"}
    assert shard.committed_to == -1
    world.log.release()
    assert answer.value == "ok"
    assert shard.committed_to == 0
    assert world.clock.pending == 0


def test_a_refused_append_changes_nothing_and_tells_its_error(world: World) -> None:
    shard = world.load()
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.write(put("a", "1")).value == "failed NOT_ENOUGH_REPLICAS"
    assert shard.latest == {}


def test_a_commit_that_does_not_come_is_given_up_but_may_still_happen(world: World) -> None:
    shard = world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    world.clock.advance(4999)
    assert not answer.done
    world.clock.advance(1)
    assert answer.value == "failed REQUEST_TIMED_OUT"
    world.log.release()
    assert shard.committed_to == 0


def test_lost_leadership_fails_what_waits(world: World) -> None:
    world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    world.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer.value == "failed NOT_LEADER_OR_FOLLOWER"


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR])
def test_settled_learns_the_fate_of_the_records_before_the_answer(world: World, error: ErrorCode) -> None:
    world.load()
    world.log.error = error
    told: list[str] = []
    parked: Promise[str] = Promise()

    def settled(_shard: Registers, _now_ms: int, outcome: ErrorCode) -> Result[None]:
        told.append(outcome.name)
        return Result(None, answers=[Answer(parked, f"settled {outcome.name}")])

    answer = world.write(put("a", "1", response=parked, settled=settled))
    assert told == [error.name]
    assert answer.value == f"settled {error.name}"


def test_a_follow_up_may_write_too(world: World) -> None:
    shard = world.load()

    def settled(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        return Result(None, [CoordinatorRecord(Text("b"), None)])

    world.write(put("a", "1", settled=settled))
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_a_request_that_an_answer_brings_in_waits_for_the_operation_to_end(world: World) -> None:
    shard = world.load()
    parked: Promise[str] = Promise()
    order: list[str] = []

    def first(shard: Registers, _now_ms: int) -> Result[str]:
        order.append("first")
        return Result("ok", [CoordinatorRecord(Text("a"), Text("1"))], answers=[Answer(parked, "go on")])

    def second(shard: Registers, _now_ms: int) -> Result[str]:
        order.append(f"second sees {shard.latest['a']}")
        return Result("ok")

    parked.then(lambda _: world.write(second))
    world.write(first)
    assert order == ["first", "second sees 1"]
    assert shard.committed_to == 0


def test_a_request_that_an_append_brings_in_waits_for_the_replay(world: World) -> None:
    shard = world.load()
    nested: list[Promise[Any]] = []
    append = world.log.append

    def append_and_wake(partition: int, batch: bytearray, now_ms: int) -> tuple[ErrorCode, int]:
        outcome = append(partition, batch, now_ms)
        if not nested:
            nested.append(world.write(put("b", "2")))
            assert not nested[0].done
        return outcome

    world.log.append = append_and_wake  # type: ignore[method-assign]
    world.write(put("a", "1"))
    assert nested[0].value == "ok"
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_a_bug_in_an_operation_does_not_block_the_next(world: World) -> None:
    world.load()

    def broken(_shard: Registers, _now_ms: int) -> Result[str]:
        raise AssertionError("a bug")

    with pytest.raises(AssertionError, match="a bug"):
        world.write(broken)
    assert world.write(put("a", "1")).value == "ok"


def test_timers_run_operations(world: World) -> None:
    shard = world.load()
    shard.timers.schedule("later", 1000, put("a", "1"))
    world.clock.advance(1000)
    assert shard.latest == {"a": "1"}


def test_only_the_owner_answers(world: World) -> None:
    assert world.write(put("a", "1")).value == "failed NOT_COORDINATOR"
    assert world.runtime.read(0, lambda shard, _: shard.latest, failed) == "failed NOT_COORDINATOR"
    assert world.log.appends == 0


def test_loading_replays_the_log_to_the_same_state(world: World) -> None:
    before = world.load()
    world.write(put("a", "1", "2"))
    world.write(put("b", "3"))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    after = dict(world.runtime.active())[0]
    assert after is not before
    assert (after.latest, after.committed_to) == (before.latest, before.committed_to)
    assert after.loaded_at == world.clock.now_ms()


def test_loading_replays_the_last_record_of_each_key_in_log_order(world: World) -> None:
    world.load()
    world.write(put("a", "1"))
    world.write(put("b", "2"))
    world.write(put("a", "3"))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    assert dict(world.runtime.active())[0].replayed == [("b", 1, -1), ("a", 2, -1)]


def test_a_long_log_is_loaded_in_slices(world: World) -> None:
    world.load()
    records = (INLINE_LOAD_BYTES + 3 * LOAD_SLICE_BYTES) // 1000
    for index in range(records):
        world.write(put(f"key {index}", "x" * 1000))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    assert world.runtime.is_loading
    assert world.write(put("a", "1")).value == "failed COORDINATOR_LOAD_IN_PROGRESS"
    assert list(world.runtime.active()) == []
    world.clock.advance()
    assert len(dict(world.runtime.active())[0].latest) == records


def test_unloading_stops_a_load(world: World) -> None:
    world.load()
    for index in range(INLINE_LOAD_BYTES // 900):
        world.write(put(f"key {index}", "x" * 1000))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    world.runtime.unload(0, leader_epoch=4)
    world.clock.advance()
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_news_of_an_older_epoch_changes_nothing(world: World) -> None:
    world.runtime.load(0, leader_epoch=5)
    world.runtime.unload(0, leader_epoch=4)
    assert world.runtime.gate(0) == ErrorCode.NONE
    world.runtime.unload(0, leader_epoch=6)
    world.runtime.load(0, leader_epoch=5)
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    world.runtime.load(0, leader_epoch=7)
    assert world.runtime.gate(0) == ErrorCode.NONE


def test_a_topic_made_anew_starts_its_epochs_anew(world: World) -> None:
    world.runtime.load(0, leader_epoch=5)
    world.runtime.unload(0, leader_epoch=6)
    world.runtime.unload(0, leader_epoch=None)
    world.runtime.load(0, leader_epoch=0)
    assert world.runtime.gate(0) == ErrorCode.NONE
    world.runtime.unload(0, leader_epoch=None)
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_unloading_answers_all_who_wait_and_stops_the_timers(world: World) -> None:
    shard = world.load()
    parked: Promise[str] = Promise()
    shard.parked.append(parked)
    joined = world.write(put("unused", response=parked))
    shard.timers.schedule("later", 1000, put("a", "1"))
    world.log.hold()
    waiting = world.write(put("a", "1"))
    world.runtime.unload(0, leader_epoch=2)
    assert joined.value == "moved"
    assert waiting.value == "failed NOT_COORDINATOR"
    assert world.clock.pending == 0
    world.log.release()
    assert shard.committed_to == -1


def test_unloading_answers_in_the_order_of_the_writes(world: World) -> None:
    world.load()
    world.log.hold()
    answered: list[int] = []

    def note(number: int, _answer: str) -> None:
        answered.append(number)

    for number in range(50):
        world.write(put("a", str(number))).then(partial(note, number))
    world.runtime.unload(0, leader_epoch=2)
    assert answered == list(range(50))


def test_what_a_new_leader_has_above_the_high_watermark_is_shown_later(world: World) -> None:
    world.load()
    world.write(put("a", "1"))
    world.runtime.unload(0, leader_epoch=2)
    world.log.hold()
    world.runtime.load(0, leader_epoch=3)
    shard = dict(world.runtime.active())[0]
    assert shard.committed_to == -1
    world.log.release()
    assert shard.committed_to == 0


def append(world: World, batch: bytearray) -> None:
    assert world.log.append(0, batch, 0)[0] == ErrorCode.NONE


def record(key: bytes, value: bytes | None = b"v") -> Record:
    return Record(0, 0, key, value)


def test_loading_skips_what_it_cannot_read(world: World, caplog: pytest.LogCaptureFixture) -> None:
    append(world, build_batch([record(b"a"), record(b"[unknown]"), record(b"!damaged"), record(b"b")]))
    damaged = build_batch([record(b"c")])
    damaged[61:] = b"\xff" * (len(damaged) - 61)
    append(world, damaged)
    append(world, build_batch([record(b"d", None)]))
    shard = world.load()
    assert shard.latest == {"a": "v", "b": "v", "d": None}
    assert len(caplog.records) == 3


def test_loading_tells_transactions_apart(world: World) -> None:
    append(world, build_batch([record(b"a")], producer_id=7, producer_epoch=0, transactional=True))
    append(world, build_batch([record(b"b")], producer_id=8, producer_epoch=0))
    marker = EndTransactionMarker(ControlType.COMMIT, 0)
    append(world, build_marker(marker, producer_id=7, producer_epoch=0, timestamp=0, leader_epoch=0))
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    append(world, build_marker(abort, producer_id=9, producer_epoch=0, timestamp=0, leader_epoch=0))
    shard = world.load()
    assert shard.replayed == [("a", 0, 7), ("b", 1, -1)]
    assert shard.ended == [(7, True, 2), (9, False, 3)]


def test_plain_records_are_replayed_before_the_marker_that_follows_them(world: World) -> None:
    append(world, build_batch([record(b"a"), record(b"a")]))
    marker = build_marker(
        EndTransactionMarker(ControlType.COMMIT, 0),
        producer_id=7,
        producer_epoch=0,
        timestamp=0,
        leader_epoch=0,
    )
    append(world, marker)
    append(world, build_batch([record(b"a")]))
    assert world.load().replayed == [("a", 1, -1), ("a", 3, -1)]


def test_batches_that_a_read_repeats_are_replayed_once(world: World) -> None:
    append(world, build_batch([record(b"a"), record(b"b")]))
    append(world, build_batch([record(b"c")]))
    whole = world.log.read
    world.log.read = lambda partition, offset, max_bytes: whole(  # type: ignore[method-assign]
        partition, max(offset - 1, 0), max_bytes
    )
    assert [key for key, *_ in world.load().replayed] == ["a", "b", "c"]


def test_reads_are_told_the_time(world: World) -> None:
    world.load()
    query: Callable[[Registers, int], int] = lambda _, now_ms: now_ms  # noqa: E731
    assert world.runtime.read(0, query, lambda _: 0) == world.clock.now_ms()
