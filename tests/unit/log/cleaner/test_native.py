"""Both implementations by which the cleaner looks at records: native, if it was built, and pure Python."""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c

from kcompat.log.cleaner import _python
from kcompat.log.cleaner.offset_map import OffsetMap
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import Record, encode_records

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from kcompat.log.cleaner import _native
except ImportError:
    BOTH: list[Any] = [_python]
else:
    BOTH = [_python, _native]

both = pytest.mark.parametrize("native", BOTH, ids=lambda module: module.__name__.rpartition(".")[2])


def table(slots: int = 1021) -> array[int]:
    return array("Q", bytes(24 * slots))


def body(*pairs: tuple[bytes | None, bytes | None], timestamp: int = 1000, base: int = 1000) -> bytes:
    records = [Record(0, timestamp + number, key, value) for number, (key, value) in enumerate(pairs)]
    return bytes(encode_records(records, base))


def offset_in(numbers: array[int], key: bytes) -> int | None:
    at, _, _ = _python.locate(numbers, key)
    return numbers[at + 2] if numbers[at] else None


@both
@pytest.mark.parametrize("size", [0, 1, 7, 8, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 1000])
def test_the_digest_is_md5(native: Any, size: int) -> None:
    key = bytes(range(256)) * 4
    numbers = table(2)
    assert native.put(numbers, body((key[:size], b"")), 1, 7, 0) == 1
    digest = hashlib.md5(key[:size]).digest()
    halves = [int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")]
    at = 3 * (halves[0] % 2)
    assert numbers[at : at + 3].tolist() == [*halves, 7]


@both
def test_what_is_put(native: Any) -> None:
    numbers = table()
    records = body((b"a", b"1"), (None, b"2"), (b"", None), (b"a", b"3"), (b"b", b"4"))
    assert native.put(numbers, records, 5, 10, 0) == 3
    assert [offset_in(numbers, key) for key in (b"a", b"", b"b", b"c")] == [13, 12, 14, None]
    assert native.put(numbers, records, 5, 20, 24) == 0
    assert [offset_in(numbers, key) for key in (b"a", b"", b"b")] == [13, 12, 24]


@both
def test_what_is_moved(native: Any) -> None:
    small, large = table(11), table(1021)
    keys = [b"%d" % number for number in range(10)]
    assert native.put(small, body(*[(key, b"") for key in keys]), 10, 0, 0) == 10
    native.move(small, large)
    assert [offset_in(large, key) for key in keys] == list(range(10))
    assert sum(map(bool, large)) == 29, "three numbers each, and the first offset is 0"


@both
def test_what_is_kept(native: Any) -> None:
    numbers = table()
    pairs = (b"a", b"1"), (None, b"2"), (b"b", None), (b"a", b"3"), (b"c", b"4")
    records = body(*pairs)
    native.put(numbers, records, 5, 10, 0)

    def keep(base: int, latest: int, keeps_tombstones: bool) -> Any:
        return native.keep(numbers, records, 5, base, 1000, latest, keeps_tombstones)

    each = [body(pair, timestamp=1000 + number)[:] for number, pair in enumerate(pairs)]
    assert len(b"".join(each)) == len(records)
    kept, newest, tombstones, found = keep(10, 99, True)
    assert (kept, newest, tombstones) == (3, 1004, 1)
    assert found == records[len(each[0]) + len(each[1]) :]
    kept, newest, tombstones, found = keep(10, 99, False)
    assert (kept, newest, tombstones) == (2, 1004, 0)
    assert found == records[-len(each[3]) - len(each[4]) :]
    assert keep(0, 99, True) == (0, -(2**63), 0, b"")
    kept, newest, tombstones, found = keep(0, 2, True)
    assert (kept, newest, tombstones, found) == (2, 1004, 0, records[-len(each[3]) - len(each[4]) :])
    assert keep(100, 99, False) == (5, 1004, 1, records)
    assert keep(100, 99, False)[3] is records


@both
@pytest.mark.parametrize("shift", [0, 1, -1, 63, -64, 10**6, -(10**13), 2**62])
def test_what_is_rebased(native: Any, shift: int) -> None:
    records = [
        Record(0, 1000 + delta, key, value, headers)
        for delta in (0, 63, 64, 8191, 2**40, -5)
        for key, value in ((None, b""), (b"k" * 64, b"v" * 20_000), (b"", None))
        for headers in ((), (("h", b"1"), ("h", None)))
    ]
    before = bytes(encode_records(records, 1000))
    after = bytes(encode_records(records, 1000 - shift))
    assert native.rebase(before, len(records), shift) == after


@both
@pytest.mark.parametrize(
    "records",
    [
        b"\x01",  # a negative length
        b"\x10\x00",  # cut short
        b"\x0c\x00\x00\x00\x01\x01",  # no header count
        b"\x0c\x00\x00\x00\x04aa\x01",  # the key ends after the record
        b"\x0c\x00\x00\x00\x01\x7eaa",  # the value ends after the record
        b"\x16\x00" + b"\xff" * 10,  # no varint
        b"\x0c\x00\x00\x00\x01\x01\x00" * 2,  # two records where one is counted
        b"",
    ],
)
def test_records_that_are_none(native: Any, records: bytes) -> None:
    assert native.put(table(), records, 1, 0, 0) == -1
    assert native.keep(table(), records, 1, 0, 0, 0, True) is None
    assert native.rebase(records, 1, 5) is None
    with pytest.raises(RecordsDamaged, match="the batch at offset 5 does not hold 1 whole records"):
        OffsetMap(1 << 16, 0.9).put_batch(records, 1, 5, 0)


@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1])
def test_a_count_that_lies_makes_no_room(count: int) -> None:
    newest = OffsetMap(1 << 16, 0.9)
    with pytest.raises(RecordsDamaged):
        newest.put_batch(body((b"a", b"")), count, 0, 0)
    assert len(newest.table) * 8 <= 1 << 16


# -- many batches at once: only in the extension, which leaves to the rest what it does not take ---

native_only = pytest.mark.skipif(len(BOTH) == 1, reason="the extension was not built")


def chunk(*batches: bytearray) -> memoryview:
    return memoryview(b"".join(batches))


def batch(*keys: bytes, offset: int = 0, value: bytes | None = b"v", **options: Any) -> bytearray:
    records = [Record(0, 1000 + number, key, value) for number, key in enumerate(keys)]
    return build_batch(records, base_offset=offset, **options)


def damaged(made: bytearray) -> bytearray:
    made[-1] ^= 1
    return made


OTHERS: list[tuple[str, bytearray]] = [
    ("compressed", batch(b"b", offset=1, codec=Codec.LZ4)),
    ("transactional", batch(b"b", offset=1, transactional=True, producer_id=1)),
    ("control", batch(b"b", offset=1, control=True, producer_id=1)),
    ("damaged", damaged(batch(b"b", offset=1))),
    ("cut", batch(b"b", offset=1)[:-1]),
    ("garbage", bytearray(100)),
    ("short", bytearray(60)),
]
others = pytest.mark.parametrize("other", [made for _, made in OTHERS], ids=[name for name, _ in OTHERS])


@native_only
@others
def test_putting_stops_before_what_is_not_plain(other: bytearray) -> None:
    first = batch(b"a")
    numbers = table()
    assert _native.put_plain(numbers, crc32c, chunk(first, other), 0, 100, 0) == (len(first), 1, 0)
    assert _native.put_plain(numbers, crc32c, chunk(first, other), len(first), 100, 0) == (len(first), 0, -1)


@native_only
def test_putting_stops_where_there_is_no_room() -> None:
    first, second, third = batch(b"a", b"b"), batch(b"a", b"c", offset=2), batch(b"d", offset=4)
    numbers = table()
    assert _native.put_plain(numbers, crc32c, chunk(first, second, third), 0, 3, 0) == (len(first), 2, 1)
    assert _native.put_plain(numbers, crc32c, chunk(first, second, third), 0, 4, 4) == (
        len(first + second + third),
        1,
        4,
    )


def keep_plain(
    numbers: array[int], given: memoryview, now_ms: int = 0, upper: int = 99
) -> tuple[int, int, int, bytes, Sequence[tuple[int, int, int]]]:
    return _native.keep_plain(numbers, crc32c, given, 0, 98, now_ms, upper)


@native_only
@others
def test_keeping_stops_before_what_is_not_plain(other: bytearray) -> None:
    first = batch(b"a")
    found = keep_plain(table(), chunk(first, other))
    assert found == (len(first), 1, 1, bytes(first), [(len(first), 0, 1000)])


@native_only
def test_batches_stay_whole_or_in_part_or_go() -> None:
    one, two, three = batch(b"a", b"b"), batch(b"a", b"c", b"d", offset=2), batch(b"c", b"d", offset=5)
    given = chunk(one, two, three)
    numbers = table()
    _native.put_plain(numbers, crc32c, given, 0, 100, 0)
    position, read, kept, data, notes = keep_plain(numbers, given)
    assert (position, read, kept) == (len(given), 7, 4)
    assert [(last, newest) for _, last, newest in notes] == [(1, 1001), (4, 1000), (6, 1001)]
    assert [size for size, _, _ in notes] == [len(one) - 8 - 1, len(two) - 2 * (8 + 1), len(three)]
    assert data.endswith(three)
    again = keep_plain(numbers, memoryview(data))
    assert again == (len(data), 4, 4, data, notes), "what is clean stays as it is, and its CRC is right"
    _native.put_plain(numbers, crc32c, chunk(batch(b"a", b"b", offset=7)), 0, 100, 0)
    position, read, kept, data, notes = keep_plain(numbers, given)
    assert (position, read, kept, data) == (len(given), 7, 2, bytes(three))


@native_only
@pytest.mark.parametrize(("now_ms", "kept"), [(999, 2), (1000, 1)])
def test_a_tombstone_goes_at_its_horizon(now_ms: int, kept: int) -> None:
    records = [Record(0, 1000, b"a", b"v"), Record(0, 1000, b"b", None)]
    made = build_batch(records)
    made[22] |= 0x40
    made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    position, read, found, _, _ = keep_plain(table(), chunk(made), now_ms)
    assert (position, read, found) == (len(made), 2, kept)


@native_only
@pytest.mark.parametrize(
    ("made", "upper"),
    [
        (batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0), 99),
        (batch(b"a"), 1),
        (batch(b"x", value=None), 99),
    ],
    ids=["a producer's", "the last", "a tombstone without a horizon"],
)
def test_what_needs_more_is_left_alone(made: bytearray, upper: int) -> None:
    numbers = table()
    _native.put(numbers, body((b"a", b"")), 1, 50, 0)
    assert keep_plain(numbers, chunk(made), upper=upper) == (0, 0, 0, b"", [])


@native_only
def test_a_crc_that_fails_is_an_exception() -> None:
    def broken(data: memoryview) -> int:
        raise OSError(len(data))

    given = chunk(batch(b"a"))
    with pytest.raises(OSError, match=r"\d"):
        _native.put_plain(table(), broken, given, 0, 9, 0)
    with pytest.raises(OSError, match=r"\d"):
        _native.keep_plain(table(), broken, given, 0, 0, 0, 0)


@native_only
@pytest.mark.parametrize("size", [0, 24, 50])
def test_a_table_that_is_none(size: int) -> None:
    with pytest.raises(ValueError, match="two entries"):
        _native.put(array("B", bytes(size)), b"", 0, 0, 0)
