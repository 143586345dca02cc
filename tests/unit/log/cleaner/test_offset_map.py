"""The map of newest offsets: what is in it, when it is full, and what it costs."""

from __future__ import annotations

from kcompat.log.cleaner.offset_map import ENTRY_BYTES, MISSING, OffsetMap


def keys(count: int, start: int = 0) -> list[tuple[bytes, int]]:
    return [(b"key-%d" % number, number) for number in range(start, start + count)]


def test_the_newest_offset_counts() -> None:
    newest = OffsetMap(1 << 16, 0.9)
    assert newest.put_all([(b"a", 1), (b"b", 2), (b"a", 3)])
    assert newest.put_all([(b"b", 7), (b"", 8)])
    assert [newest.get(key) for key in (b"a", b"b", b"", b"c")] == [3, 7, 8, MISSING]
    assert newest.size == 3


def test_it_grows() -> None:
    newest = OffsetMap(1 << 20, 0.9)
    for start in range(0, 20_000, 500):
        assert newest.put_all(keys(500, start))
    assert newest.size == 20_000
    assert all(newest.get(key) == offset for key, offset in keys(20_000))
    assert newest.get(b"key-20000") == MISSING


def test_it_is_full_at_the_load_factor() -> None:
    newest = OffsetMap(ENTRY_BYTES * 1009, 0.5)
    assert newest.put_all(keys(500))
    assert not newest.put_all(keys(5, 500))
    assert newest.size == 500
    assert newest.get(b"key-500") == MISSING
    assert newest.put_all(keys(4, 500))


def test_it_keeps_to_its_memory() -> None:
    slots = 5003
    newest = OffsetMap(ENTRY_BYTES * slots, 0.9)
    count = 0
    while newest.put_all(keys(100, count)):
        count += 100
    assert count == 4500
    assert len(newest.table) * newest.table.itemsize <= ENTRY_BYTES * slots
    assert all(newest.get(key) == offset for key, offset in keys(count))


def test_one_batch_fits_whatever_the_bound() -> None:
    for count in (10, 113, 114, 1000, 5000):
        newest = OffsetMap(0, 0.9)
        assert newest.put_all(keys(count))
        assert newest.get(b"absent") == MISSING
        assert [newest.get(key) for key, _ in keys(count)] == list(range(count))
        assert not newest.put_all(keys(1, count))
