"""Which records a fetch hands out."""

from __future__ import annotations

import pytest

from kcompat.share.batches import StateBatch
from kcompat.share.partition.acquisition import Acquired, FetchedBatch, without
from kcompat.share.partition.limits import AcquireMode, ShareLimits
from support.share_partitions import ACCEPT, LOCK_MS, REJECT, RELEASE, SharePartitionFixture

RECORD_LIMIT = AcquireMode.RECORD_LIMIT


def first_time(*ranges: tuple[int, int]) -> list[Acquired]:
    return [Acquired(first, last, 1) for first, last in ranges]


def test_whole_batches_are_acquired_though_less_is_asked_for() -> None:
    fixture = SharePartitionFixture()
    assert fixture.fetch((0, 4), (5, 9), (10, 14), records=7) == first_time((0, 9))
    assert (fixture.partition.start_offset, fixture.partition.end_offset) == (0, 10)
    assert fixture.partition.next_fetch_offset == 10


def test_ranges_are_of_about_the_batch_size_and_of_whole_record_batches() -> None:
    fixture = SharePartitionFixture()
    acquired = fixture.fetch((0, 2), (3, 5), (6, 8), (9, 9), batch_size=5)
    assert acquired == first_time((0, 5), (6, 9))
    assert SharePartitionFixture().fetch((0, 20), batch_size=5) == first_time((0, 20))


@pytest.mark.parametrize(("records", "last"), [(1, 0), (5, 4), (7, 6)])
def test_no_more_than_the_limit_is_acquired_where_that_is_wanted(records: int, last: int) -> None:
    fixture = SharePartitionFixture()
    assert fixture.fetch((0, 4), (5, 9), records=records, mode=RECORD_LIMIT) == first_time((0, last))
    assert fixture.partition.end_offset == (5 if records <= 5 else 10)
    rest = fixture.fetch((0, 4), (5, 9), records=100, mode=RECORD_LIMIT)
    assert [rest[0].first_offset, rest[-1].last_offset] == [last + 1, 9]
    assert fixture.fetch((5, 9)) == []


def test_nothing_is_acquired_of_nothing() -> None:
    fixture = SharePartitionFixture(start=5)
    assert fixture.fetch() == []
    assert fixture.fetch((5, 9), records=0) == []
    assert fixture.fetch((0, 4)) == []


def test_a_batch_that_begins_before_the_start_is_acquired_from_there() -> None:
    assert SharePartitionFixture(start=5).fetch((0, 9)) == first_time((5, 9))


def test_a_batch_whose_beginning_is_done_with_is_acquired_behind_it() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 9), records=4, mode=RECORD_LIMIT)
    fixture.say(0, 3, ACCEPT)
    assert fixture.fetch((0, 9)) == first_time((4, 9))


def test_what_is_not_there_at_the_start_is_skipped() -> None:
    fixture = SharePartitionFixture(start=5)
    assert fixture.fetch((20, 24)) == first_time((20, 24))
    assert fixture.partition.start_offset == 20


def test_released_records_come_again() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 9))
    fixture.fetch((10, 19), member="b")
    fixture.say(3, 5, RELEASE)
    assert fixture.partition.next_fetch_offset == 3
    assert fixture.fetch((0, 9), (10, 19), (20, 29), member="c") == [Acquired(3, 5, 2), Acquired(20, 29, 1)]


def test_ranges_that_were_delivered_equally_often_come_as_one() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 4), member="a")
    fixture.fetch((5, 9), member="b")
    fixture.say(2, 3, RELEASE)
    fixture.now_ms = LOCK_MS
    fixture.partition.expire(fixture.limits, fixture.now_ms)
    assert fixture.in_flight == ["0-4 AVAILABLE x1", "5-9 AVAILABLE x1"]
    fixture.fetch((0, 4), records=2, mode=RECORD_LIMIT)
    assert fixture.fetch((0, 4), (5, 9)) == [Acquired(2, 4, 2), Acquired(5, 9, 2)]


def test_as_many_records_are_in_flight_as_may_be() -> None:
    fixture = SharePartitionFixture(max_record_locks=10)
    assert fixture.fetch((0, 4), (5, 9), (10, 14)) == first_time((0, 9))
    assert not fixture.partition.can_acquire(fixture.limits)
    assert fixture.fetch((10, 14)) == []
    fixture.say(8, 8, RELEASE)
    assert fixture.partition.can_acquire(fixture.limits)
    assert fixture.fetch((5, 9), (10, 14)) == [Acquired(8, 8, 2)]
    fixture.say(0, 0, REJECT)
    assert fixture.partition.can_acquire(fixture.limits)
    assert fixture.fetch((10, 14), (15, 19)) == first_time((10, 14))


def test_what_was_compacted_away_is_done_with() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 4), (5, 9), (10, 14))
    fixture.say(0, 14, RELEASE)
    assert fixture.fetch((12, 14)) == [Acquired(12, 14, 2)]
    assert fixture.partition.start_offset == 12


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [
        (2, [8, 8]),
        (3, [8, 8, 1, 1, 1, 1, 1, 1, 1, 1]),
        (5, [8, 8, 8, 4, 1, 1, 1, 1, 4, 1, 1, 1, 1]),
    ],
)
def test_records_that_fail_again_and_again_come_in_smaller_numbers(limit: int, sizes: list[int]) -> None:
    fixture = SharePartitionFixture(delivery_count_limit=limit)
    seen = []
    while fixture.partition.start_offset < 8:
        acquired = fixture.fetch((0, 7))
        seen.append(sum(each.last_offset - each.first_offset + 1 for each in acquired))
        for each in acquired:
            fixture.say(each.first_offset, each.last_offset, RELEASE)
    assert seen == sizes


def test_records_that_come_in_smaller_numbers_come_alone() -> None:
    fixture = SharePartitionFixture(delivery_count_limit=3)
    fixture.fetch((0, 3))
    fixture.fetch((4, 7))
    fixture.say(0, 3, RELEASE)
    fixture.fetch((0, 3))
    fixture.say(0, 7, RELEASE)
    assert fixture.fetch((0, 3), (4, 7)) == [Acquired(0, 0, 3)]
    assert ShareLimits(200, 10, 30_000, renew_acknowledge=True).throttled_deliveries == 5


def test_records_of_one_batch_that_failed_less_often_do_not_hold_up_the_others() -> None:
    fixture = SharePartitionFixture(delivery_count_limit=4)
    fixture.fetch((0, 5), records=5, mode=RECORD_LIMIT)
    for _ in range(2):
        assert fixture.fetch((0, 5))[0].first_offset == 5
        fixture.say(5, 5, RELEASE)
    fixture.say(0, 4, RELEASE)
    assert fixture.fetch((0, 5)) == [Acquired(0, 4, 2), Acquired(5, 5, 3)]


def test_gaps_in_what_was_stored_are_delivered_as_if_for_the_first_time() -> None:
    stored = (StateBatch(5, 9, 2, 1), StateBatch(15, 16, 0, 2), StateBatch(17, 19, 4, 1))
    fixture = SharePartitionFixture(*stored)
    assert (fixture.partition.start_offset, fixture.partition.end_offset) == (0, 20)
    assert fixture.partition.next_fetch_offset == 0
    assert fixture.fetch((0, 2), (3, 9), records=3) == first_time((0, 2))
    assert fixture.partition.next_fetch_offset == 3
    assert fixture.fetch((3, 9), (10, 12), (13, 19), (20, 29)) == [
        Acquired(3, 4, 1),
        Acquired(10, 14, 1),
        Acquired(15, 16, 3),
        Acquired(20, 29, 1),
    ]


def test_a_gap_without_records_is_done_with() -> None:
    fixture = SharePartitionFixture(StateBatch(5, 9, 2, 1), StateBatch(20, 20, 2, 1))
    assert fixture.fetch((5, 9), (12, 13), (20, 20)) == first_time((10, 19))
    assert fixture.in_flight[0] == "10-19 ACQUIRED x1 by 'a'"


def test_a_part_of_a_gap_remains_one() -> None:
    fixture = SharePartitionFixture(StateBatch(20, 20, 2, 1))
    assert fixture.fetch((0, 9), (10, 20), records=2, mode=RECORD_LIMIT) == first_time((0, 1))
    assert fixture.fetch((0, 9), records=100) == first_time((2, 9))
    assert fixture.fetch((10, 20)) == first_time((10, 19))


def test_records_of_aborted_transactions_are_nobodys() -> None:
    fixture = SharePartitionFixture()
    assert fixture.fetch((0, 2), (3, 5), (6, 9), aborted=((3, 5),)) == first_time((0, 2), (6, 9))
    assert fixture.in_flight == ["0-2 ACQUIRED x1 by 'a'", "3-5 ARCHIVED x1", "6-9 ACQUIRED x1 by 'a'"]
    assert SharePartitionFixture().fetch((0, 2), aborted=((0, 2),)) == []


@pytest.mark.parametrize(
    ("removed", "rest"),
    [
        ([], [(0, 9), (20, 29)]),
        ([(10, 19)], [(0, 9), (20, 29)]),
        ([(0, 9)], [(20, 29)]),
        ([(0, 4), (8, 21)], [(5, 7), (22, 29)]),
        ([(3, 4), (6, 6)], [(0, 2), (5, 5), (7, 9), (20, 29)]),
    ],
)
def test_ranges_without_some_batches(removed: list[tuple[int, int]], rest: list[tuple[int, int]]) -> None:
    acquired = first_time((0, 9), (20, 29))
    assert without(acquired, [FetchedBatch(*batch) for batch in removed]) == first_time(*rest)


def test_acquired_records_are_locked() -> None:
    fixture = SharePartitionFixture()
    assert fixture.partition.lock_ends_ms is None
    fixture.fetch((0, 0))
    fixture.now_ms = 10
    fixture.fetch((1, 1))
    assert fixture.partition.lock_ends_ms == LOCK_MS
