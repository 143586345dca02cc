"""Chunks of a segment: whole batches, whatever their sizes, and what is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.cleaner.reading import SegmentReader
from kcompat.log.files import FILES
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import encode_message
from support.log_harness import make_batch

if TYPE_CHECKING:
    from pathlib import Path


def reader(path: Path, data: bytes, end: int | None = None, chunk_bytes: int = 1 << 20) -> SegmentReader:
    (path / "log").write_bytes(data)
    file = FILES.open(str(path / "log"))
    return SegmentReader(file, "the file", len(data) if end is None else end, chunk_bytes)


def taken(source: SegmentReader) -> list[bytes]:
    found = []
    while source.more():
        found.append(bytes(source.take()))
    return found


@pytest.mark.parametrize("chunk", [12, 61, 100, 1000, 10**6])
def test_batches_of_all_sizes(tmp_path: Path, chunk: int) -> None:
    batches = [bytes(make_batch(1, value=b"v" * size)) for size in (0, 5000, 1, 90, 30, 200)]
    batches.append(encode_message(7, 0, 0, -1, b"k", b"old"))
    source = reader(tmp_path, b"".join(batches), chunk_bytes=chunk)
    assert taken(source) == batches
    assert source.position == sum(map(len, batches))


def test_no_batches(tmp_path: Path) -> None:
    assert taken(reader(tmp_path, b"")) == []


def test_several_are_in_a_chunk(tmp_path: Path) -> None:
    batch = bytes(make_batch())
    source = reader(tmp_path, batch * 5)
    assert source.more()
    assert bytes(source.chunk) == batch * 5
    source.at += 3 * len(batch)
    assert source.position == 3 * len(batch)
    assert taken(source) == [batch] * 2


def test_what_follows_the_end_is_not_looked_at(tmp_path: Path) -> None:
    batch = bytes(make_batch())
    assert taken(reader(tmp_path, batch + b"garbage" * 20, end=len(batch))) == [batch]


BATCH = bytes(make_batch())
LONG = BATCH[:8] + (2**31 - 1).to_bytes(4, "big") + BATCH[12:]
SHORT = BATCH[:8] + (13).to_bytes(4, "big") + BATCH[12:]
NEGATIVE = BATCH[:8] + b"\xff" * 4 + BATCH[12:]


@pytest.mark.parametrize(
    "rest",
    [BATCH[:-1], BATCH[:11], BATCH[:12], b"\0", bytes(100), LONG, SHORT, NEGATIVE, BATCH[:-1] + b"x"],
    ids=["cut", "cut size", "only a size", "a byte", "zeros", "long", "short", "negative", "a wrong CRC"],
)
def test_damage_is_named_by_its_place(tmp_path: Path, rest: bytes) -> None:
    with pytest.raises(RecordsDamaged, match=f"^the file is damaged at byte {len(BATCH)}$"):
        taken(reader(tmp_path, BATCH + rest))


def test_a_file_that_was_cut_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(RecordsDamaged, match=f"damaged at byte {len(BATCH)}"):
        taken(reader(tmp_path, BATCH + BATCH[:30], end=2 * len(BATCH)))
