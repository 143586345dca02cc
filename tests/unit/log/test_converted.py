"""A range of a log as old messages: converted while it is read, cut or filled up to the size it promised."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kcompat.log.converted import ConvertedRange
from kcompat.log.files import FileRange, OpenFile
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.down_convert import UnsupportedCodec, down_convert, overflow_message
from kcompat.records.message_set import encode_message, read_messages
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORDS = [
    Record(0, 1000, b"k", b"v", (("h", b"x"),)),
    Record(1, 2000, None, b""),
    Record(2, 1500, b"", None),
]
COMMIT = EndTransactionMarker(ControlType.COMMIT, 3)
MARKER = bytes(build_marker(COMMIT, producer_id=7, producer_epoch=1, timestamp=5, leader_epoch=2))


def batch(codec: Codec = Codec.NONE, base: int = 0, records: list[Record] = RECORDS) -> bytes:
    return bytes(build_batch(records, base_offset=base, codec=codec))


def converted(data: bytes, magic: int) -> bytes:
    return b"".join(down_convert(memoryview(data), magic, 0))


def plain(base: int) -> bytes:
    return b"".join(encode_message(base + r.offset, 0, 0, -1, r.key, r.value) for r in RECORDS)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., FileRange]:
    """Writes batches to a file, 7 bytes into it: a range of them, the last maybe cut short."""

    def store(*batches: bytes, cut: int = 0) -> FileRange:
        data = b"".join(batches)
        (tmp_path / "segment").write_bytes(b"before " + data)
        file = OpenFile(os.open(tmp_path / "segment", os.O_RDONLY))
        return FileRange(file, 7, len(data) - cut)

    return store


def read(source: FileRange, magic: int = 0, first_offset: int = 0) -> tuple[bytes, int]:
    """All bytes of a converted range, and how many it said there would be."""
    found = ConvertedRange(source, magic, first_offset, 1 << 20)
    size = len(found)
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < size:
        pieces.append(found.next_piece())
        assert pieces[-1]
    return b"".join(pieces), size


def test_a_range_is_filled_up(stored: Callable[..., FileRange]) -> None:
    source = stored(batch(base=0))
    data, size = read(source, 0, 2)
    last = encode_message(2, 0, 0, -1, b"", None)
    assert size == len(source) == len(data)
    assert data == last + overflow_message(size - len(last))


def test_a_range_is_cut(stored: Callable[..., FileRange]) -> None:
    small = [Record(0, 0, None, None)] * 100
    one = converted(batch(base=0, records=small), 1)
    source = stored(*(batch(base=100 * n, records=small) for n in range(3)))
    data, size = read(source, 1)
    assert size == len(one) > len(source)
    assert data == one
    source = stored(*(batch(base=100 * n, records=small) for n in range(12)))
    data, size = read(source, 1)
    assert size == len(source) > len(one)
    everything = b"".join(converted(batch(base=100 * n, records=small), 1) for n in range(12))
    assert data == everything[:size]


def test_a_batch_that_is_cut_short_does_not_count(stored: Callable[..., FileRange]) -> None:
    assert read(stored(batch(base=0), cut=1)) == (b"", 0)
    data, size = read(stored(batch(base=0), batch(base=3), cut=1))
    assert [m.offset for m in read_messages(data)] == [0, 1, 2]
    assert size == 2 * len(batch()) - 1


def test_a_marker_before_a_batch_does_not_repeat_it(stored: Callable[..., FileRange]) -> None:
    data, size = read(stored(MARKER, batch(base=1)))
    assert size == len(MARKER) + len(batch())
    assert data == plain(1) + overflow_message(size - len(plain(1)))


def test_markers_alone_are_twelve_bytes(stored: Callable[..., FileRange]) -> None:
    assert read(stored(MARKER, MARKER)) == (overflow_message(12), 12)


def test_zstd_first_cannot_be(stored: Callable[..., FileRange]) -> None:
    for data in ([batch(Codec.ZSTD)], [MARKER, batch(Codec.ZSTD)]):
        with pytest.raises(UnsupportedCodec):
            read(stored(*data))


def test_zstd_later_ends_the_messages(stored: Callable[..., FileRange]) -> None:
    source = stored(batch(base=0), batch(Codec.ZSTD, 3), batch(base=6))
    data, size = read(source)
    assert size == len(source)
    assert data == plain(0) + overflow_message(size - len(plain(0)))


def test_damage_later_ends_the_messages(stored: Callable[..., FileRange]) -> None:
    damaged = bytearray(batch(base=3))
    damaged[61] = 0x7E
    data, _ = read(stored(batch(base=0), bytes(damaged)))
    assert [m.offset for m in read_messages(data)] == [0, 1, 2]


def test_batches_larger_than_a_read(stored: Callable[..., FileRange]) -> None:
    big = [Record(0, 0, None, os.urandom(1000))] * 300
    source = stored(
        *(batch(Codec.GZIP, 300 * n, big) for n in range(2)),
        *(batch(base=600 + 300 * n, records=big) for n in range(2)),
    )
    data, size = read(source)
    assert size == len(source)
    assert [m.offset for m in read_messages(data)][:1150] == list(range(1150))


def test_a_file_that_became_shorter_ends_the_messages(
    tmp_path: Path, stored: Callable[..., FileRange]
) -> None:
    source = stored(batch(base=0), batch(base=3))
    os.truncate(tmp_path / "segment", 7 + len(batch()) + 5)
    data, size = read(source)
    assert size == len(source)
    assert data == plain(0) + overflow_message(size - len(plain(0)))
    os.truncate(tmp_path / "segment", 7)
    assert read(source) == (b"", 0)


def test_small_batches_are_sent_together(stored: Callable[..., FileRange]) -> None:
    single = [Record(0, 1000, None, bytes(100))]
    found = ConvertedRange(stored(*(batch(base=at, records=single) for at in range(2000))), 0, 0, 1 << 20)
    pieces, left = [], len(found)
    while left:
        pieces.append(found.next_piece())
        left -= len(pieces[-1])
    assert min(map(len, pieces[:5])) > 30_000
    assert [m.offset for m in read_messages(b"".join(pieces))] == list(range(2000))
