from __future__ import annotations

from kcompat.log.epochs import LeaderEpochCache


def test_an_epoch_begins_once_and_contradicting_entries_go() -> None:
    cache = LeaderEpochCache([(0, 0), (2, 10), (5, 30)])
    assert not cache.assign(5, 40), "the epoch in force goes on"
    assert cache.assign(6, 30), "an epoch without data gives way"
    assert cache.entries == [(0, 0), (2, 10), (6, 30)]
    assert cache.assign(3, 20)
    assert cache.entries == [(0, 0), (2, 10), (3, 20)]
    assert not cache.assign(-1, 50)
    assert cache.latest == 3


def test_end_offsets() -> None:
    cache = LeaderEpochCache([(2, 10), (5, 30)])
    assert cache.end_offset_for(-1, 99) == (-1, -1)
    assert cache.end_offset_for(5, 99) == (5, 99)
    assert cache.end_offset_for(6, 99) == (-1, -1)
    assert cache.end_offset_for(4, 99) == (2, 30)
    assert cache.end_offset_for(2, 99) == (2, 30)
    assert cache.end_offset_for(1, 99) == (1, 10)
    assert LeaderEpochCache().end_offset_for(0, 99) == (-1, -1)


def test_epoch_of_an_offset() -> None:
    cache = LeaderEpochCache([(2, 10), (5, 30)])
    assert [cache.epoch_for(offset) for offset in (9, 10, 29, 30, 1000)] == [-1, 2, 2, 5, 5]


def test_cutting_the_end() -> None:
    cache = LeaderEpochCache([(0, 0), (2, 10), (5, 30)])
    assert not cache.truncate_from_end(31)
    assert cache.truncate_from_end(30)
    assert (cache.entries, cache.latest) == ([(0, 0), (2, 10)], 2)
    assert cache.truncate_from_end(0)
    assert (cache.entries, cache.latest) == ([], -1)


def test_cutting_the_start_keeps_the_epoch_in_force() -> None:
    cache = LeaderEpochCache([(0, 0), (2, 10), (5, 30)])
    assert not cache.truncate_from_start(0)
    assert cache.truncate_from_start(20)
    assert cache.entries == [(2, 20), (5, 30)]
    assert cache.truncate_from_start(30)
    assert cache.entries == [(5, 30)]
