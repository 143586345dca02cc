"""Deleting offsets that are part of open transactions: the transactions bring nothing back when they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.group.removal import MAX_TOMBSTONES
from kcompat.group.serde import GROUP_SERDE
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker
from kcompat.records.record import Record
from support.group_world import GROUP, GroupWorld

if TYPE_CHECKING:
    from collections.abc import Callable

T0, T1, OTHER = ("topic", 0), ("topic", 1), ("other", 0)
COMMIT, ABORT = (EndTransactionMarker(kind, 0) for kind in (ControlType.COMMIT, ControlType.ABORT))


def delete_group(world: GroupWorld) -> None:
    assert world.coordinator.delete(GROUP).value == ErrorCode.NONE


def delete_offsets(world: GroupWorld) -> None:
    deleted = world.coordinator.delete_offsets(GROUP, [T0, T1])
    assert deleted.value == (ErrorCode.NONE, {T0: ErrorCode.NONE, T1: ErrorCode.NONE})


def forget_topic(world: GroupWorld) -> None:
    world.coordinator.forget_topics(lambda partition: partition[0] == "topic")


def write_tombstones(world: GroupWorld) -> None:
    """As Kafka wrote them: whoever loads the log finds them."""
    for topic, index in (T0, T1):
        tombstone = CoordinatorRecord(OffsetCommitKey(group=GROUP, topic=topic, partition=index), None)
        append(world, tombstone)
    world.restart()


def append(world: GroupWorld, record: CoordinatorRecord, codec: Codec = Codec.NONE) -> None:
    """Another coordinator has written it."""
    batch = build_batch([Record(0, 0, *GROUP_SERDE.serialize(record))], codec=codec)
    error, _ = world.log.append(world.coordinator.partition_of(GROUP), batch, 0)
    assert error == ErrorCode.NONE


@pytest.mark.parametrize("delete", [delete_group, delete_offsets, forget_topic, write_tombstones])
def test_the_end_of_a_transaction_brings_no_deleted_offset_back(
    world: GroupWorld, delete: Callable[[GroupWorld], None]
) -> None:
    """T0 has been committed before, T1 only in the transaction."""
    world.commit({T0: 5})
    world.stage(7, {T0: 9, T1: 9})
    delete(world)
    world.check_invariants()
    world.check_replay()
    assert world.end_transaction(7, COMMIT).value == ErrorCode.NONE
    assert world.fetch() == {}
    world.restart()
    assert world.fetch() == {}
    assert world.group() is None


def test_a_group_with_open_transactions_is_deleted_whole(world: GroupWorld) -> None:
    world.commit({T0: 5})
    world.stage(7, {T0: 9})
    world.stage(8, {T1: 9})
    delete_group(world)
    assert world.group() is None
    assert world.coordinator.list_groups(set(), set())[1] == []
    assert world.coordinator.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND


def test_nothing_else_of_the_transaction_is_deleted(world: GroupWorld) -> None:
    world.stage(7, {T0: 1, OTHER: 2})
    world.stage(8, {T1: 3})
    world.stage(7, {T0: 4}, group_id="another")
    delete_offsets(world)
    world.end_transaction(7, COMMIT)
    world.end_transaction(7, COMMIT, group_id="another")
    world.end_transaction(8, COMMIT)
    assert world.fetch() == {OTHER: 2}
    assert world.fetch(group_id="another") == {T0: 4}


def test_what_is_committed_after_the_deletion_counts(world: GroupWorld) -> None:
    world.stage(7, {T0: 1, T1: 1})
    delete_offsets(world)
    world.stage(7, {T0: 2})
    world.commit({T1: 3})
    assert world.fetch_one(T1, require_stable=True).offset == 3, "nothing is open of it"
    world.end_transaction(7, COMMIT)
    assert world.fetch() == {T0: 2, T1: 3}


def test_who_loads_the_log_waits_for_no_deleted_offset(world: GroupWorld) -> None:
    """The commit after the tombstone has the same key, and is in a batch that is read record by record."""
    world.stage(7, {T0: 1})
    delete_offsets(world)
    key, value = OffsetCommitKey(group=GROUP, topic="topic", partition=0), OffsetCommitValue(offset=3)
    append(world, CoordinatorRecord(key, value), codec=Codec.GZIP)
    world.restart()
    assert world.fetch_one(T0, require_stable=True).offset == 3


def test_a_deletion_is_unstable_until_it_is_committed(world: GroupWorld) -> None:
    world.stage(7, {T0: 1})
    world.log.hold()
    deleted = world.coordinator.delete_offsets(GROUP, [T0])
    assert world.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.log.release()
    assert deleted.done
    assert world.fetch_one(T0, require_stable=True).offset == -1


def test_an_aborted_transaction_changes_nothing_of_what_was_deleted(world: GroupWorld) -> None:
    world.stage(7, {T0: 1})
    delete_offsets(world)
    assert world.end_transaction(7, ABORT).value == ErrorCode.NONE
    assert world.fetch() == {}
    world.check_replay()


def test_many_staged_offsets_of_a_deleted_topic_go_in_batches_of_bounded_size(world: GroupWorld) -> None:
    world.stage(7, {("topic", index): 1 for index in range(MAX_TOMBSTONES + 500)} | {OTHER: 6})
    appends = world.log.appends
    forget_topic(world)
    assert world.log.appends == appends + 2
    world.end_transaction(7, COMMIT)
    assert world.fetch() == {OTHER: 6}
