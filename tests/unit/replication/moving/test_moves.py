"""Replicas move from one log directory to another, and nobody else notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.following.follower_partition import FollowerPartition
from kcompat.replication.partition import Partition
from kcompat.replication.reading import ANY_CONSUMER, FetchSpec
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from support.replica_moves import (
    FAST,
    FOLLOWS,
    ME,
    ONE,
    OTHER,
    SLOW,
    THREE,
    TWO,
    MovesFixture,
    all_records,
    append,
    begun,
    values_of,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_replica_is_copied_and_then_served_from_the_other_directory(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    append(partition, ONE, TWO, THREE)
    before, epochs = all_records(partition), partition.log.epochs.cache.entries
    assert fixture.moves.move("t", 0, fixture.b) == ErrorCode.NONE
    assert fixture.names() == ["a/t-0", "b/t-0 future"]
    fixture.clock.advance(1000)
    assert fixture.names() == ["a/t-0 delete", "b/t-0"]
    assert (partition.log.context.path, partition.log) == (fixture.b, fixture.logs.get("t", 0))
    assert (all_records(partition), partition.log.epochs.cache.entries) == (before, epochs)
    assert (partition.high_watermark, partition.is_leader, partition.future) == (3, True, None)
    append(partition, b"more")
    assert values_of(partition) == [ONE, TWO, THREE, b"more"]
    fixture.check(partition)
    fixture.clock.advance(60_000)
    assert fixture.names() == ["b/t-0"]
    fixture.stop()
    again = MovesFixture(tmp_path)
    assert values_of(again.create()) == [ONE, TWO, THREE, b"more"]
    again.stop()


def test_what_is_written_during_the_move_comes_along(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    append(partition, THREE)
    assert values_of(partition) == [ONE, TWO, THREE]
    slow.allow(FAST)
    assert partition.log.context.path == slow.b
    assert values_of(partition) == [ONE, TWO, THREE]
    slow.check(partition)
    slow.stop()


def test_who_waits_for_records_gets_those_that_come_after_the_move(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    append(partition, ONE)
    spec = FetchSpec(1, 1000)
    assert not len(partition.fetch(spec, ANY_CONSUMER, 1000, min_one_batch=True).records)
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(1000)
    append(partition, TWO)
    assert len(partition.fetch(spec, ANY_CONSUMER, 1000, min_one_batch=True).records)
    fixture.stop()


def test_the_rate_of_all_moves_together_is_limited(slow: MovesFixture) -> None:
    partitions = [slow.create(index=index) for index in range(2)]
    for partition in partitions:
        append(partition, ONE, TWO)
        slow.moves.move("t", partition.index, slow.c)
    slow.clock.advance(5000)
    ends = [log.log_end_offset for log in slow.logs.futures]
    assert sorted(ends) == [0, 1]
    slow.allow(FAST)
    assert [partition.log.context.path for partition in partitions] == [slow.c, slow.c]
    slow.stop()


def test_one_replica_after_the_other_is_copied_in_the_order_of_their_names(slow: MovesFixture) -> None:
    for index in (2, 1, 0):
        append(slow.create(index=index), ONE, TWO)
    for index, to in ((2, slow.b), (0, slow.b), (1, slow.c)):
        slow.moves.move("t", index, to)
    slow.clock.advance(1000)
    assert {log.partition: log.log_end_offset for log in slow.logs.futures} == {0: 1, 1: 0, 2: 0}
    slow.stop()


@pytest.mark.parametrize(("copiers", "ends"), [(1, [2, 0, 0]), (3, [1, 1, 0])])
def test_as_many_replicas_as_there_are_copiers_are_copied_at_a_time(
    tmp_path: Path, copiers: int, ends: list[int]
) -> None:
    """The rate allows two batches."""
    fixture = MovesFixture(tmp_path, bytes_per_second=250, copiers=copiers)
    for index in range(3):
        append(fixture.create(index=index), ONE, TWO, THREE)
    for index, to in enumerate((fixture.b, fixture.c, fixture.a)):
        fixture.moves.move("t", index, to)
    fixture.clock.advance(0)
    assert [log.log_end_offset for log in fixture.logs.futures] == ends
    fixture.stop()


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_or_shortened_log_moves_as_well(tmp_path: Path, count: int) -> None:
    """One that nothing was ever written to, and one whose records are all deleted."""
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    append(partition, *[ONE] * count)
    partition.delete_records_before(-1)
    fixture.moves.move("t", 0, fixture.c)
    fixture.clock.advance(1000)
    assert partition.log.context.path == fixture.c
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (count, count)
    append(partition, TWO)
    assert partition.log.log_end_offset == count + 1
    fixture.check(partition)
    fixture.stop()


def test_records_that_are_deleted_during_the_move_are_not_copied(slow: MovesFixture) -> None:
    settled: list[ErrorCode] = []
    partition = slow.create(segment_bytes="200", retention_ms="-1")
    append(partition, ONE, TWO, THREE)
    begun(slow, partition)
    assert partition.delete_records_before(2) == (ErrorCode.NONE, 2)
    assert partition.low_watermark == 0, "they are still in the copy"
    deletion = DelayedProgress(
        {partition: 2}, lambda _, error: settled.append(error), "done", Partition.deleted
    )
    slow.replicas.deletions.wait(deletion, (partition,), timeout_ms=None)
    slow.logs.enforce_retention(slow.clock.now_ms(), lambda _: 3)
    assert settled == []
    slow.allow(FAST)
    assert settled == [ErrorCode.NONE]
    assert partition.log.context.path == slow.b
    assert (partition.log.log_start_offset, values_of(partition)) == (2, [THREE])
    assert partition.low_watermark == 2
    slow.check(partition)
    slow.stop()


def test_producers_are_known_after_the_move(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    batch = bytes(build_batch([Record(0, 1000, None, ONE)], producer_id=7, producer_epoch=0, base_sequence=0))

    def produce() -> tuple[int, bool]:
        copy = memoryview(bytearray(batch))
        result = partition.append(copy, read_header(copy), 1, 5000)
        assert not isinstance(result, ErrorCode)
        return result.base_offset, result.duplicate

    assert produce() == (0, False)
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(1000)
    assert partition.log.context.path == fixture.b
    assert produce() == (0, True)
    fixture.stop()


def test_an_epoch_without_records_is_known_after_the_move(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    append(partition, ONE)
    fixture.replicas.take_role("t", 0, Role(ME, 4, (ME,), (ME,)))
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(1000)
    assert partition.log.context.path == fixture.b
    assert partition.end_offset_for_epoch(4, -1) == (ErrorCode.NONE, 4, 1)
    fixture.stop()


def test_a_move_goes_on_in_each_new_epoch(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    for epoch, leader in ((1, OTHER), (2, ME)):
        slow.replicas.take_role("t", 0, Role(leader, epoch, (leader,), (ME, OTHER)))
    slow.allow(FAST)
    assert (partition.log.context.path, values_of(partition)) == (slow.b, [ONE, TWO])
    slow.stop()


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_follower_that_is_cut_cuts_its_copy(slow: MovesFixture, kept: int) -> None:
    partition = slow.create(role=FOLLOWS)
    append(partition, ONE, TWO, THREE, epoch=0)
    begun(slow, partition)
    slow.allow(250)
    slow.clock.advance(2000)
    FollowerPartition(partition, slow.clock).truncate_to(kept)
    append(partition, *[b"new" * 30] * 4, epoch=3)
    slow.allow(FAST)
    assert partition.log.context.path == slow.b
    assert values_of(partition) == [ONE, TWO, THREE][:kept] + [b"new" * 30] * 4
    slow.check(partition)
    slow.stop()


def test_a_follower_that_begins_anew_has_its_copy_begin_anew(slow: MovesFixture) -> None:
    partition = slow.create(role=FOLLOWS)
    append(partition, ONE, TWO, epoch=0)
    begun(slow, partition)
    FollowerPartition(partition, slow.clock).truncate_fully_and_start_at(7)
    append(partition, THREE, epoch=0)
    slow.allow(FAST)
    assert (partition.log.context.path, partition.log.log_start_offset) == (slow.b, 7)
    assert values_of(partition) == [THREE]
    slow.stop()


def test_to_stay_where_it_is_ends_the_move(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    assert slow.moves.move("t", 0, slow.a) == ErrorCode.NONE
    assert slow.names() == ["a/t-0", "b/t-0 delete"]
    assert (partition.future, slow.logs.futures.get("t", 0)) == (None, None)
    slow.allow(FAST)
    assert (partition.log.context.path, values_of(partition)) == (slow.a, [ONE, TWO])
    slow.stop()


def test_a_move_that_is_sent_elsewhere_begins_anew(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    assert slow.moves.move("t", 0, slow.b) == ErrorCode.NONE, "as before"
    assert slow.moves.move("t", 0, slow.c) == ErrorCode.NONE
    assert slow.names() == ["a/t-0", "b/t-0 delete", "c/t-0 future"]
    slow.allow(FAST)
    assert (partition.log.context.path, values_of(partition)) == (slow.c, [ONE, TWO])
    slow.stop()


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_move_goes_on_after_a_restart(tmp_path: Path, is_clean: bool) -> None:
    fixture = MovesFixture(tmp_path, bytes_per_second=SLOW)
    partition = fixture.create()
    append(partition, ONE, TWO, THREE)
    begun(fixture, partition)
    if is_clean:
        fixture.stop()
    else:
        fixture.crash()
    again = MovesFixture(tmp_path)
    assert again.names() == ["a/t-0", "b/t-0 future"]
    future = again.logs.futures.get("t", 0)
    assert future is not None
    assert future.log_end_offset == 1
    partition = again.create(role=Role(ME, 1, (ME,), (ME,)))
    again.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (again.b, [ONE, TWO, THREE])
    assert again.names() == ["a/t-0 delete", "b/t-0"]
    again.check(partition)
    again.stop()


def test_a_copy_of_another_topic_of_this_name_is_set_aside(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path, bytes_per_second=SLOW)
    partition = fixture.create()
    append(partition, ONE)
    begun(fixture, partition)
    fixture.crash()
    (tmp_path / "b").joinpath(next(path.name for path in (tmp_path / "b").glob("t-0*"))).joinpath(
        "partition.metadata"
    ).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    again = MovesFixture(tmp_path)
    partition = again.create(role=Role(ME, 1, (ME,), (ME,)))
    again.clock.advance(1000)
    assert (again.names(), partition.future) == (["a/t-0", "b/t-0 stray"], None)
    again.stop()


def test_a_topic_that_is_deleted_takes_its_copy_along(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    slow.replicas.remove("t", 0)
    slow.logs.delete("t", 0)
    assert slow.names() == ["a/t-0 delete", "b/t-0 delete"]
    slow.allow(FAST)
    slow.clock.advance(60_000)
    assert slow.names() == []
    slow.stop()


def test_a_replica_that_is_stopped_keeps_its_copy_for_its_next_role(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    slow.replicas.stop("t", 0)
    slow.allow(FAST)
    assert slow.names() == ["a/t-0", "b/t-0 future"]
    slow.replicas.take_role("t", 0, Role(ME, 1, (ME,), (ME,)))
    slow.clock.advance(1000)
    assert partition.log.context.path == slow.b
    slow.stop()
