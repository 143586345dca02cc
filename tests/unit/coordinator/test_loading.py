"""How the runtime takes partitions on, from their logs, and lets go of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.coordinator.runtime import INLINE_LOAD_BYTES, LOAD_SLICE_BYTES
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.registers import RegisterWorld, put

if TYPE_CHECKING:
    import pytest


def append(world: RegisterWorld, batch: bytearray) -> None:
    assert world.log.append(0, batch, 0)[0] == ErrorCode.NONE


def record(key: bytes, value: bytes | None = b"v") -> Record:
    return Record(0, 0, key, value)


def test_loading_replays_the_log_to_the_same_state(world: RegisterWorld) -> None:
    before = world.load()
    world.write(put("a", "1", "2"))
    world.write(put("b", "3"))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    after = dict(world.runtime.active())[0]
    assert after is not before
    assert (after.latest, after.committed_to) == (before.latest, before.committed_to)
    assert after.loaded_at == world.clock.now_ms()


def test_loading_replays_the_last_record_of_each_key_in_log_order(world: RegisterWorld) -> None:
    world.load()
    world.write(put("a", "1"))
    world.write(put("b", "2"))
    world.write(put("a", "3"))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    assert dict(world.runtime.active())[0].replayed == [("b", 1, -1), ("a", 2, -1)]


def test_a_long_log_is_loaded_in_slices(world: RegisterWorld) -> None:
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


def test_unloading_stops_a_load(world: RegisterWorld) -> None:
    world.load()
    for index in range(INLINE_LOAD_BYTES // 900):
        world.write(put(f"key {index}", "x" * 1000))
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    world.runtime.unload(0, leader_epoch=4)
    world.clock.advance()
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_news_of_an_older_epoch_changes_nothing(world: RegisterWorld) -> None:
    world.runtime.load(0, leader_epoch=5)
    world.runtime.unload(0, leader_epoch=4)
    assert world.runtime.gate(0) == ErrorCode.NONE
    world.runtime.unload(0, leader_epoch=6)
    world.runtime.load(0, leader_epoch=5)
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    world.runtime.load(0, leader_epoch=7)
    assert world.runtime.gate(0) == ErrorCode.NONE


def test_a_topic_made_anew_starts_its_epochs_anew(world: RegisterWorld) -> None:
    world.runtime.load(0, leader_epoch=5)
    world.runtime.unload(0, leader_epoch=6)
    world.runtime.unload(0, leader_epoch=None)
    world.runtime.load(0, leader_epoch=0)
    assert world.runtime.gate(0) == ErrorCode.NONE
    world.runtime.unload(0, leader_epoch=None)
    assert world.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_unloading_answers_all_who_wait_and_stops_the_timers(world: RegisterWorld) -> None:
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


def test_unloading_answers_in_the_order_of_the_writes(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    answered: list[int] = []

    def note(number: int, _answer: str) -> None:
        answered.append(number)

    for number in range(50):
        world.write(put("a", str(number))).then(partial(note, number))
    world.runtime.unload(0, leader_epoch=2)
    assert answered == list(range(50))


def test_what_a_new_leader_has_above_the_high_watermark_is_shown_later(world: RegisterWorld) -> None:
    world.load()
    world.write(put("a", "1"))
    world.runtime.unload(0, leader_epoch=2)
    world.log.hold()
    world.runtime.load(0, leader_epoch=3)
    shard = dict(world.runtime.active())[0]
    assert shard.committed_to == -1
    world.log.release()
    assert shard.committed_to == 0


def test_loading_skips_what_it_cannot_read(world: RegisterWorld, caplog: pytest.LogCaptureFixture) -> None:
    append(world, build_batch([record(b"a"), record(b"[unknown]"), record(b"!damaged"), record(b"b")]))
    damaged = build_batch([record(b"c")])
    damaged[61:] = b"\xff" * (len(damaged) - 61)
    append(world, damaged)
    append(world, build_batch([record(b"d", None)]))
    shard = world.load()
    assert shard.latest == {"a": "v", "b": "v", "d": None}
    assert len(caplog.records) == 3


def test_loading_tells_transactions_apart(world: RegisterWorld) -> None:
    append(world, build_batch([record(b"a")], producer_id=7, producer_epoch=0, transactional=True))
    append(world, build_batch([record(b"b")], producer_id=8, producer_epoch=0))
    marker = EndTransactionMarker(ControlType.COMMIT, 0)
    append(world, build_marker(marker, producer_id=7, producer_epoch=0, timestamp=0, leader_epoch=0))
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    append(world, build_marker(abort, producer_id=9, producer_epoch=0, timestamp=0, leader_epoch=0))
    shard = world.load()
    assert shard.replayed == [("a", 0, 7), ("b", 1, -1)]
    assert shard.ended == [(7, True, 2), (9, False, 3)]


def test_plain_records_are_replayed_before_the_marker_that_follows_them(world: RegisterWorld) -> None:
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


def test_batches_that_a_read_repeats_are_replayed_once(world: RegisterWorld) -> None:
    append(world, build_batch([record(b"a"), record(b"b")]))
    append(world, build_batch([record(b"c")]))
    whole = world.log.read
    world.log.read = lambda partition, offset, max_bytes: whole(  # type: ignore[method-assign]
        partition, max(offset - 1, 0), max_bytes
    )
    assert [key for key, *_ in world.load().replayed] == ["a", "b", "c"]
