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
from support.group_coordinators import GROUP, GroupFixture

if TYPE_CHECKING:
    from collections.abc import Callable

T0, T1, OTHER = ("topic", 0), ("topic", 1), ("other", 0)
COMMIT, ABORT = (EndTransactionMarker(kind, 0) for kind in (ControlType.COMMIT, ControlType.ABORT))


def delete_group(fixture: GroupFixture) -> None:
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NONE


def delete_offsets(fixture: GroupFixture) -> None:
    deleted = fixture.coordinator.delete_offsets(GROUP, [T0, T1])
    assert deleted.value == (ErrorCode.NONE, {T0: ErrorCode.NONE, T1: ErrorCode.NONE})


def forget_topic(fixture: GroupFixture) -> None:
    fixture.coordinator.forget_topics(lambda partition: partition[0] == "topic")


def write_tombstones(fixture: GroupFixture) -> None:
    """As Kafka wrote them: whoever loads the log finds them."""
    for topic, index in (T0, T1):
        tombstone = CoordinatorRecord(OffsetCommitKey(group=GROUP, topic=topic, partition=index), None)
        append(fixture, tombstone)
    fixture.restart()


def append(fixture: GroupFixture, record: CoordinatorRecord, codec: Codec = Codec.NONE) -> None:
    """Another coordinator has written it."""
    batch = build_batch([Record(0, 0, *GROUP_SERDE.serialize(record))], codec=codec)
    error, _ = fixture.log.append(fixture.coordinator.partition_of(GROUP), batch, 0)
    assert error == ErrorCode.NONE


@pytest.mark.parametrize("delete", [delete_group, delete_offsets, forget_topic, write_tombstones])
def test_the_end_of_a_transaction_brings_no_deleted_offset_back(
    fixture: GroupFixture, delete: Callable[[GroupFixture], None]
) -> None:
    """T0 has been committed before, T1 only in the transaction."""
    fixture.commit({T0: 5})
    fixture.stage(7, {T0: 9, T1: 9})
    delete(fixture)
    fixture.check_invariants()
    fixture.check_replay()
    assert fixture.end_transaction(7, COMMIT).value == ErrorCode.NONE
    assert fixture.fetch() == {}
    fixture.restart()
    assert fixture.fetch() == {}
    assert fixture.group() is None


def test_a_group_with_open_transactions_is_deleted_whole(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5})
    fixture.stage(7, {T0: 9})
    fixture.stage(8, {T1: 9})
    delete_group(fixture)
    assert fixture.group() is None
    assert fixture.coordinator.list_groups(set(), set())[1] == []
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND


def test_nothing_else_of_the_transaction_is_deleted(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 1, OTHER: 2})
    fixture.stage(8, {T1: 3})
    fixture.stage(7, {T0: 4}, group_id="another")
    delete_offsets(fixture)
    fixture.end_transaction(7, COMMIT)
    fixture.end_transaction(7, COMMIT, group_id="another")
    fixture.end_transaction(8, COMMIT)
    assert fixture.fetch() == {OTHER: 2}
    assert fixture.fetch(group_id="another") == {T0: 4}


def test_what_is_committed_after_the_deletion_counts(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 1, T1: 1})
    delete_offsets(fixture)
    fixture.stage(7, {T0: 2})
    fixture.commit({T1: 3})
    assert fixture.fetch_one(T1, require_stable=True).offset == 3, "nothing is open of it"
    fixture.end_transaction(7, COMMIT)
    assert fixture.fetch() == {T0: 2, T1: 3}


def test_who_loads_the_log_waits_for_no_deleted_offset(fixture: GroupFixture) -> None:
    """The commit after the tombstone has the same key, and is in a batch that is read record by record."""
    fixture.stage(7, {T0: 1})
    delete_offsets(fixture)
    key, value = OffsetCommitKey(group=GROUP, topic="topic", partition=0), OffsetCommitValue(offset=3)
    append(fixture, CoordinatorRecord(key, value), codec=Codec.GZIP)
    fixture.restart()
    assert fixture.fetch_one(T0, require_stable=True).offset == 3


def test_a_deletion_is_unstable_until_it_is_committed(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 1})
    fixture.log.hold()
    deleted = fixture.coordinator.delete_offsets(GROUP, [T0])
    assert fixture.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    fixture.log.release()
    assert deleted.done
    assert fixture.fetch_one(T0, require_stable=True).offset == -1


def test_an_aborted_transaction_changes_nothing_of_what_was_deleted(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 1})
    delete_offsets(fixture)
    assert fixture.end_transaction(7, ABORT).value == ErrorCode.NONE
    assert fixture.fetch() == {}
    fixture.check_replay()


def test_many_staged_offsets_of_a_deleted_topic_go_in_batches_of_bounded_size(fixture: GroupFixture) -> None:
    fixture.stage(7, {("topic", index): 1 for index in range(MAX_TOMBSTONES + 500)} | {OTHER: 6})
    appends = fixture.log.appends
    forget_topic(fixture)
    assert fixture.log.appends == appends + 2
    fixture.end_transaction(7, COMMIT)
    assert fixture.fetch() == {OTHER: 6}
