"""Fetches of share partitions over real logs: what is handed over at once, and what is waited for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kcompat.log.files import FileRange
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_records
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from kcompat.replication.reading import ANY_CONSUMER, FetchSpec
from kcompat.share.partition.acquisition import Acquired, FetchedBatch
from kcompat.share.reading import ReadBatches
from kcompat.share.sessions import ShareSessionKey
from support.share_coordinators import TOPIC
from support.share_partitions import ACCEPT, GROUP, LOCK_MS, OTHER, RELEASE, ShareFetchFixture

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.promise import Promise
    from kcompat.share.fetching import Handed, Results

ZERO, ONE = (TOPIC, 0), (TOPIC, 1)


@pytest.fixture
def fixture(tmp_path: Path) -> ShareFetchFixture:
    return ShareFetchFixture(tmp_path)


def only(fetched: Promise[Results]) -> Handed:
    ((_, handed),) = fetched.value
    return handed


def values(handed: Handed) -> list[bytes | None]:
    read = ReadBatches(bytes(handed.records))
    return [
        record.value for batch in read.batches for record in read_records(read.slice(batch.first, batch.last))
    ]


def test_what_is_there_is_handed_over_at_once(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0", b"1")
    fixture.produce(b"2")
    handed = only(fixture.fetch())
    assert handed.acquired == [Acquired(0, 2, 1)]
    assert values(handed) == [b"0", b"1", b"2"]


def test_only_the_batches_of_what_was_acquired_are_sent(fixture: ShareFetchFixture) -> None:
    for at in range(4):
        fixture.produce(b"%d" % at)
    fixture.fetch()
    fixture.say(1, 2, RELEASE)
    handed = only(fixture.fetch(member="b"))
    assert handed.acquired == [Acquired(1, 2, 2)]
    assert values(handed) == [b"1", b"2"]


def test_a_fetch_waits_for_records_as_long_as_it_may(fixture: ShareFetchFixture) -> None:
    waiting, other = fixture.fetch(wait_ms=500), fixture.fetch(member="b", wait_ms=100)
    fixture.clock.advance(100)
    assert not waiting.done
    assert other.value == [(ZERO, only(other))]
    assert only(other).acquired == ()
    fixture.produce(b"0")
    fixture.clock.advance(0)
    assert values(only(waiting)) == [b"0"]


def test_a_fetch_waits_until_there_is_enough(fixture: ShareFetchFixture) -> None:
    waiting = fixture.fetch(min_bytes=150)
    fixture.produce(b"0")
    fixture.clock.advance(0)
    assert not waiting.done
    fixture.produce(b"1" * 50)
    fixture.clock.advance(0)
    assert len(values(only(waiting))) == 2
    assert only(fixture.fetch(min_bytes=0)).acquired == ()


@pytest.mark.parametrize("min_bytes", [1, 1000])
def test_nothing_is_handed_to_who_does_not_wait_any_more(fixture: ShareFetchFixture, min_bytes: int) -> None:
    waiting = fixture.fetch(min_bytes=min_bytes, wait_ms=100)
    fixture.is_awaited = False
    fixture.produce(b"0")
    fixture.clock.advance(100)
    assert waiting.value == []
    fixture.is_awaited = True
    assert only(fixture.fetch(member="b")).acquired == [Acquired(0, 0, 1)]


def test_what_one_member_gives_back_another_gets(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0", b"1")
    fixture.fetch(member="a")
    waiting = fixture.fetch(member="b")
    assert not waiting.done
    fixture.say(1, 1, RELEASE)
    fixture.clock.advance(0)
    assert only(waiting).acquired == [Acquired(1, 1, 2)]


def test_what_a_member_keeps_too_long_another_gets(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0")
    fixture.fetch(member="a")
    waiting = fixture.fetch(member="b", wait_ms=10 * LOCK_MS)
    fixture.clock.advance(LOCK_MS)
    assert only(waiting).acquired == [Acquired(0, 0, 2)]


def test_what_a_member_has_when_it_goes_another_gets(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0")
    fixture.fetch(member="a")
    waiting = fixture.fetch(member="b")
    assert fixture.shares.release(ShareSessionKey(GROUP, "a"), [ZERO, ONE]).value[0].error == ErrorCode.NONE
    fixture.clock.advance(0)
    assert only(waiting).acquired == [Acquired(0, 0, 2)]


def test_several_partitions_share_the_limits(fixture: ShareFetchFixture) -> None:
    for index in range(3):
        for _ in range(4):
            fixture.produce(b"x" * 100, index=index)
    targets = [(TOPIC, index) for index in range(3)]
    fetched = fixture.fetch(*targets, max_records=6, max_bytes=3 * 400).value
    assert [[each[:2] for each in handed.acquired] for _, handed in fetched] == [
        [(0, 1)],
        [(0, 1)],
        [(0, 1)],
    ]
    fetched = fixture.fetch(*targets, member="b", max_records=3).value
    assert [[each[:2] for each in handed.acquired] for _, handed in fetched] == [[(2, 3)], [(2, 2)], []]
    fetched = fixture.fetch(*targets, member="c").value
    assert [[each[:2] for each in handed.acquired] for _, handed in fetched] == [[], [(3, 3)], [(2, 3)]]


def test_nothing_is_asked_for(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0")
    assert fixture.fetch(max_records=0).value == []
    assert fixture.fetch(max_bytes=0).value == []


def test_partitions_that_are_not_led_here_say_so(fixture: ShareFetchFixture) -> None:
    fixture.lead(OTHER, index=0)
    nowhere, unknown = (TOPIC, 99), (b"\7" * 16, 0)
    errors = {key: handed.outcome.error for key, handed in fixture.fetch(ZERO, nowhere, unknown).value}
    assert errors == {
        ZERO: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        nowhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    waiting = fixture.fetch(ZERO, ONE)
    assert not waiting.done
    fixture.produce(b"0", index=1)
    fixture.clock.advance(0)
    assert [handed.outcome.error for _, handed in waiting.value] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NONE,
    ]


def test_a_fetch_that_waits_hears_that_another_leads(fixture: ShareFetchFixture) -> None:
    waiting = fixture.fetch()
    fixture.lead(OTHER, index=0)
    fixture.clock.advance(0)
    assert only(waiting).outcome.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert len(fixture.shares) == 0


def test_records_below_the_log_start_are_passed(fixture: ShareFetchFixture) -> None:
    for _ in range(3):
        fixture.produce(b"0")
    fixture.fetch(max_records=1)
    fixture.partition().delete_records_before(2)
    first = only(fixture.fetch())
    assert (first.outcome.error, first.acquired) == (ErrorCode.NONE, ())
    assert only(fixture.fetch()).acquired == [Acquired(2, 2, 1)]


def test_a_disk_that_fails_is_told(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0")
    fixture.led()
    data = fixture.partition().fetch(FetchSpec(0, 1000), ANY_CONSUMER, 1000, min_one_batch=True).records
    assert isinstance(data, FileRange)
    unreadable = os.open(os.devnull, os.O_WRONLY)
    os.dup2(unreadable, data.fileno())
    os.close(unreadable)
    assert only(fixture.fetch()).outcome.error == ErrorCode.KAFKA_STORAGE_ERROR


def test_acknowledged_records_are_gone_for_good(fixture: ShareFetchFixture) -> None:
    fixture.produce(b"0", b"1")
    fixture.fetch()
    assert fixture.say(0, 1, ACCEPT).value.error == ErrorCode.NONE
    fixture.shares.forget_group(GROUP)
    fixture.produce(b"2")
    assert only(fixture.fetch()).acquired == [Acquired(2, 2, 1)]


# --- batches


def batch(first: int, *, producer_id: int = -1, transactional: bool = False) -> bytes:
    built = build_batch(
        [Record(0, 0, None, b"v"), Record(1, 0, None, b"w")],
        base_offset=first,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=transactional,
    )
    return bytes(built)


def test_batches_are_cut_out_whole() -> None:
    first, second, third = batch(0), batch(2), batch(10)
    read = ReadBatches(first + second + third + first[:30])
    assert read.batches == [FetchedBatch(0, 1), FetchedBatch(2, 3), FetchedBatch(10, 11)]
    assert read.slice(0, 3) == first + second
    assert read.slice(3, 3) == second
    assert read.slice(1, 7) == first + second
    assert read.slice(10, 11) == third


def test_batches_of_aborted_transactions_are_found() -> None:
    def marker(offset: int, producer_id: int, kind: ControlType) -> bytes:
        built = build_marker(
            EndTransactionMarker(kind, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=0,
            leader_epoch=0,
        )
        built[:8] = offset.to_bytes(8, "big")
        return bytes(built)

    read = ReadBatches(
        batch(0, producer_id=7, transactional=True)
        + batch(2, producer_id=8, transactional=True)
        + batch(4, producer_id=7)
        + marker(6, 7, ControlType.ABORT)
        + batch(7, producer_id=7, transactional=True)
        + marker(9, 8, ControlType.COMMIT)
        + batch(10, producer_id=7, transactional=True)
        + marker(12, 7, ControlType.ABORT)
    )
    assert read.aborted([(7, 0)]) == [FetchedBatch(0, 1)]
    assert read.aborted([(7, 10), (7, 0)]) == [FetchedBatch(0, 1), FetchedBatch(10, 11)]
    assert read.aborted([]) == []
