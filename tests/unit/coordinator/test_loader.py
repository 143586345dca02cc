"""How the runtime takes partitions on, from their logs, and lets go of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from kcompat.coordinator.runtime import INLINE_LOAD_BYTES, LOAD_SLICE_BYTES
from kcompat.log.errors import StorageError
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.coordinator_log import MemoryCoordinatorLog
from support.registers import RegisterFixture, Registers, failed, put

if TYPE_CHECKING:
    from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition
    from kcompat.coordinator.timer import KeyedTimers


def append(fixture: RegisterFixture, batch: bytearray) -> None:
    assert fixture.log.append(0, batch, 0)[0] == ErrorCode.NONE


def record(key: bytes, value: bytes | None = b"v") -> Record:
    return Record(0, 0, key, value)


def test_loading_replays_the_log_to_the_same_state(fixture: RegisterFixture) -> None:
    before = fixture.load()
    fixture.write(put("a", "1", "2"))
    fixture.write(put("b", "3"))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    after = dict(fixture.runtime.active())[0]
    assert after is not before
    assert (after.latest, after.committed_to) == (before.latest, before.committed_to)
    assert after.loaded_at == fixture.clock.now_ms()


def test_loading_replays_the_last_record_of_each_key_in_log_order(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.write(put("a", "1"))
    fixture.write(put("b", "2"))
    fixture.write(put("a", "3"))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    assert dict(fixture.runtime.active())[0].replayed == [("b", 1, -1), ("a", 2, -1)]


def test_a_long_log_is_loaded_in_slices(fixture: RegisterFixture) -> None:
    fixture.load()
    records = (INLINE_LOAD_BYTES + 3 * LOAD_SLICE_BYTES) // 1000
    for index in range(records):
        fixture.write(put(f"key {index}", "x" * 1000))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    assert fixture.runtime.is_loading
    assert fixture.write(put("a", "1")).value == "failed COORDINATOR_LOAD_IN_PROGRESS"
    assert list(fixture.runtime.active()) == []
    fixture.clock.advance()
    assert len(dict(fixture.runtime.active())[0].latest) == records


def test_unloading_stops_a_load(fixture: RegisterFixture) -> None:
    fixture.load()
    for index in range(INLINE_LOAD_BYTES // 900):
        fixture.write(put(f"key {index}", "x" * 1000))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    fixture.runtime.unload(0, leader_epoch=4)
    fixture.clock.advance()
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_news_of_an_older_epoch_changes_nothing(fixture: RegisterFixture) -> None:
    fixture.runtime.load(0, leader_epoch=5)
    fixture.runtime.unload(0, leader_epoch=4)
    assert fixture.runtime.gate(0) == ErrorCode.NONE
    fixture.runtime.unload(0, leader_epoch=6)
    fixture.runtime.load(0, leader_epoch=5)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    fixture.runtime.load(0, leader_epoch=7)
    assert fixture.runtime.gate(0) == ErrorCode.NONE


def test_a_topic_made_anew_starts_its_epochs_anew(fixture: RegisterFixture) -> None:
    fixture.runtime.load(0, leader_epoch=5)
    fixture.runtime.unload(0, leader_epoch=6)
    fixture.runtime.unload(0, leader_epoch=None)
    fixture.runtime.load(0, leader_epoch=0)
    assert fixture.runtime.gate(0) == ErrorCode.NONE
    fixture.runtime.unload(0, leader_epoch=None)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_unloading_answers_all_who_wait_and_stops_the_timers(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    parked: Promise[str] = Promise()
    shard.parked.append(parked)
    joined = fixture.write(put("unused", response=parked))
    shard.timers.schedule("later", 1000, put("a", "1"))
    fixture.log.hold()
    waiting = fixture.write(put("a", "1"))
    fixture.runtime.unload(0, leader_epoch=2)
    assert joined.value == "moved"
    assert waiting.value == "failed NOT_COORDINATOR"
    assert fixture.clock.pending == 0
    fixture.log.release()
    assert shard.committed_to == -1


def test_unloading_answers_in_the_order_of_the_writes(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    answered: list[int] = []

    def note(number: int, _answer: str) -> None:
        answered.append(number)

    for number in range(50):
        fixture.write(put("a", str(number))).then(partial(note, number))
    fixture.runtime.unload(0, leader_epoch=2)
    assert answered == list(range(50))


def test_what_a_new_leader_has_above_the_high_watermark_is_awaited(fixture: RegisterFixture) -> None:
    """Its high watermark may lie behind what the leader before it has acknowledged, and what lies above may
    be lost with it.
    """
    load_above_the_high_watermark(fixture)
    assert fixture.runtime.gate(0) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert fixture.write(put("a", "2")).value == "failed COORDINATOR_LOAD_IN_PROGRESS"
    fixture.log.release()
    shard = dict(fixture.runtime.active())[0]
    assert (shard.latest, shard.committed_to) == ({"a": "1"}, 0)
    assert shard.loaded_at == fixture.clock.now_ms()


def load_above_the_high_watermark(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.write(put("a", "1"))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.log.hold()
    fixture.clock.advance(1000)
    fixture.runtime.load(0, leader_epoch=3)


def test_what_is_committed_with_too_few_in_sync_is_served(fixture: RegisterFixture) -> None:
    load_above_the_high_watermark(fixture)
    fixture.log.release(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert fixture.runtime.gate(0) == ErrorCode.NONE


def test_a_leader_that_loses_what_it_has_loaded_loads_it_again(fixture: RegisterFixture) -> None:
    load_above_the_high_watermark(fixture)
    fixture.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    fixture.log.batches.clear()
    fixture.runtime.load(0, leader_epoch=5)
    assert dict(fixture.runtime.active())[0].latest == {}


def test_what_is_committed_after_an_unload_changes_nothing(fixture: RegisterFixture) -> None:
    load_above_the_high_watermark(fixture)
    fixture.runtime.unload(0, leader_epoch=4)
    fixture.log.release()
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR


def test_loading_skips_what_it_cannot_read(
    fixture: RegisterFixture, caplog: pytest.LogCaptureFixture
) -> None:
    append(fixture, build_batch([record(b"a"), record(b"[unknown]"), record(b"!damaged"), record(b"b")]))
    damaged = build_batch([record(b"c")])
    damaged[61:] = b"\xff" * (len(damaged) - 61)
    append(fixture, damaged)
    append(fixture, build_batch([record(b"d", None)]))
    shard = fixture.load()
    assert shard.latest == {"a": "v", "b": "v", "d": None}
    assert len(caplog.records) == 3


def test_loading_tells_transactions_apart(fixture: RegisterFixture) -> None:
    append(fixture, build_batch([record(b"a")], producer_id=7, producer_epoch=0, transactional=True))
    append(fixture, build_batch([record(b"b")], producer_id=8, producer_epoch=0))
    marker = EndTransactionMarker(ControlType.COMMIT, 0)
    append(fixture, build_marker(marker, producer_id=7, producer_epoch=0, timestamp=0, leader_epoch=0))
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    append(fixture, build_marker(abort, producer_id=9, producer_epoch=0, timestamp=0, leader_epoch=0))
    shard = fixture.load()
    assert shard.replayed == [("a", 0, 7), ("b", 1, -1)]
    assert shard.ended == [(7, True, 2), (9, False, 3)]


def test_plain_records_are_replayed_before_the_marker_that_follows_them(fixture: RegisterFixture) -> None:
    append(fixture, build_batch([record(b"a"), record(b"a")]))
    marker = build_marker(
        EndTransactionMarker(ControlType.COMMIT, 0),
        producer_id=7,
        producer_epoch=0,
        timestamp=0,
        leader_epoch=0,
    )
    append(fixture, marker)
    append(fixture, build_batch([record(b"a")]))
    assert fixture.load().replayed == [("a", 1, -1), ("a", 3, -1)]


def test_a_tombstone_is_replayed_though_its_key_comes_again(fixture: RegisterFixture) -> None:
    """A tombstone also ends what other records began, such as an offset that an open transaction has
    committed for the same key.
    """
    append(fixture, build_batch([record(b"a"), record(b"b", None)]))
    append(fixture, build_batch([record(b"a"), record(b"b"), record(b"c"), record(b"b")]))
    assert fixture.load().replayed == [("b", 1, -1), ("a", 2, -1), ("c", 4, -1), ("b", 5, -1)]


class RepeatingLog(MemoryCoordinatorLog):
    """Gives the batch before the one that is asked for as well."""

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        return super().read(partition, max(offset - 1, 0), max_bytes)


def test_batches_that_a_read_repeats_are_replayed_once() -> None:
    fixture = RegisterFixture(log=RepeatingLog())
    append(fixture, build_batch([record(b"a"), record(b"b")]))
    append(fixture, build_batch([record(b"c")]))
    assert [key for key, *_ in fixture.load().replayed] == ["a", "b", "c"]


# --- what cannot be loaded


BROKEN_DISK = StorageError("/data", OSError(5, "Input/output error"))


def test_a_partition_that_cannot_be_read_is_not_served(
    fixture: RegisterFixture, caplog: pytest.LogCaptureFixture
) -> None:
    fixture.log.unreadable[0] = BROKEN_DISK
    fixture.runtime.load(0, leader_epoch=1)
    fixture.runtime.load(1, leader_epoch=1)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    assert not fixture.runtime.is_loading
    assert fixture.write(put("a", "1")).value == "failed NOT_COORDINATOR"
    assert fixture.runtime.read(0, lambda shard, _: shard.latest, failed) == "failed NOT_COORDINATOR"
    assert fixture.runtime.gate(1) == ErrorCode.NONE
    assert [record.getMessage() for record in caplog.records] == [
        "The coordinator does not serve coordinator-0 at leader epoch 1, as its log could not be loaded: "
        f"{BROKEN_DISK}"
    ]


def test_a_load_that_fails_half_way_ends_there(fixture: RegisterFixture) -> None:
    fixture.load()
    for index in range(INLINE_LOAD_BYTES // 900):
        fixture.write(put(f"key {index}", "x" * 1000))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    assert fixture.runtime.gate(0) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    fixture.log.unreadable[0] = BROKEN_DISK
    fixture.clock.advance()
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    assert fixture.clock.pending == 0


def test_a_load_that_failed_is_tried_again_in_a_later_epoch(fixture: RegisterFixture) -> None:
    append(fixture, build_batch([record(b"a")]))
    fixture.log.unreadable[0] = BROKEN_DISK
    fixture.runtime.load(0, leader_epoch=3)
    del fixture.log.unreadable[0]
    fixture.runtime.load(0, leader_epoch=3)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    fixture.runtime.load(0, leader_epoch=4)
    assert dict(fixture.runtime.active())[0].latest == {"a": "v"}


def test_a_partition_that_failed_and_was_deleted_is_loaded_when_it_comes_anew(
    fixture: RegisterFixture,
) -> None:
    fixture.log.unreadable[0] = BROKEN_DISK
    fixture.runtime.load(0, leader_epoch=3)
    fixture.runtime.unload(0, leader_epoch=None)
    del fixture.log.unreadable[0]
    fixture.runtime.load(0, leader_epoch=0)
    assert fixture.runtime.gate(0) == ErrorCode.NONE


@pytest.mark.parametrize("place", ["replay", "loaded"])
def test_a_bug_in_a_shard_fails_its_own_load_alone(place: str, caplog: pytest.LogCaptureFixture) -> None:
    fixture = RegisterFixture(partial(Buggy, place=place))
    append(fixture, build_batch([record(b"a")]))
    fixture.runtime.load(0, leader_epoch=1)
    fixture.runtime.load(1, leader_epoch=1)
    assert fixture.runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    assert fixture.runtime.gate(1) == ErrorCode.NONE
    assert fixture.clock.pending == 0
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None


class Buggy(Registers):
    """Raises at one place while a log that is not empty is loaded, after it has set a timer."""

    def __init__(self, timers: KeyedTimers, place: str) -> None:
        super().__init__(timers)
        self.place = place

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        super().replay(record, position)
        assert self.place != "replay"

    def loaded(self, now_ms: int) -> None:
        if self.latest:
            self.timers.schedule("session", 1000, put("a", "gone"))
            assert self.place != "loaded"

    def unloaded(self) -> list[Answer]:
        raise AssertionError("it is not fit to be asked")


def test_a_log_without_keys_in_the_sense_of_compaction_is_replayed_record_by_record() -> None:
    fixture = RegisterFixture(is_keyed=False)
    fixture.load()
    fixture.write(put("a", "1"))
    fixture.write(put("b", "2"))
    fixture.write(put("a", "3"))
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    assert dict(fixture.runtime.active())[0].replayed == [("a", 0, -1), ("b", 1, -1), ("a", 2, -1)]
