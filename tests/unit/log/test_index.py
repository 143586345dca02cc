from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.files import FILES
from kcompat.log.index import OffsetIndex, TimeIndex
from support.current import current

if TYPE_CHECKING:
    from pathlib import Path


def offset_index(path: Path, base: int = 100, max_bytes: int = 1 << 20) -> OffsetIndex:
    return OffsetIndex(FILES, str(path / "i"), base, max_bytes)


def time_index(path: Path, base: int = 100, max_bytes: int = 1 << 20) -> TimeIndex:
    return TimeIndex(FILES, str(path / "t"), base, max_bytes)


def test_an_offset_entry_is_relative_offset_and_position_in_eight_bytes(tmp_path: Path) -> None:
    index = offset_index(tmp_path)
    index.append(105, 4200)
    index.append(111, 0x01020304)
    index.flush()
    assert (tmp_path / "i").read_bytes() == bytes.fromhex("00000005 00001068 0000000b 01020304")


def test_a_time_entry_is_timestamp_and_relative_offset_in_twelve_bytes(tmp_path: Path) -> None:
    index = time_index(tmp_path)
    index.append(0x0102030405060708, 107)
    index.flush()
    assert (tmp_path / "t").read_bytes() == bytes.fromhex("0102030405060708 00000007")


def test_a_time_entry_that_is_not_newer_is_not_written(tmp_path: Path) -> None:
    index = time_index(tmp_path)
    index.append(50, 101)
    index.append(50, 102)
    index.append(49, 103)
    assert len(index) == 1
    assert index.last_entry() == (50, 101)


def test_lookups_find_the_greatest_entry_at_or_below_the_target(tmp_path: Path) -> None:
    index = offset_index(tmp_path)
    for offset, position in [(105, 10), (110, 20), (115, 30)]:
        index.append(offset, position)
    assert [index.position_for(offset) for offset in (100, 104, 105, 109, 110, 114, 115, 999)] == [
        0, 0, 10, 10, 20, 20, 30, 30,
    ]  # fmt: skip
    assert [index.offset_beyond(position) for position in (0, 10, 11, 30, 31)] == [105, 105, 110, 115, None]


def test_lookups_cross_the_border_between_file_and_memory(tmp_path: Path) -> None:
    index = offset_index(tmp_path, base=0)
    entries = [(10 * n + 9, 100 * n + 1) for n in range(1000)]
    for entry in entries:
        index.append(*entry)
    assert 0 < (tmp_path / "i").stat().st_size < 8 * len(entries), (
        "some entries are in the file, some in memory"
    )
    for target in range(0, 10_010, 7):
        linear = max((position for offset, position in entries if offset <= target), default=0)
        assert index.position_for(target) == linear


def test_truncation_drops_entries_at_and_above_the_offset(tmp_path: Path) -> None:
    index = offset_index(tmp_path, base=0)
    for n in range(600):
        index.append(n, n)
    index.truncate_to(599)
    assert current(index.last) == (598, 598)
    index.truncate_to(300)
    assert (len(index), current(index.last)) == (300, (299, 299))
    index.append(300, 300)
    index.flush()
    assert (tmp_path / "i").stat().st_size == 301 * 8
    assert index.position_for(1000) == 300
    index.reset()
    assert (len(index), index.last, (tmp_path / "i").exists()) == (0, None, False)


def test_loading_ignores_the_zeros_kafka_preallocates(tmp_path: Path) -> None:
    (tmp_path / "i").write_bytes(bytes.fromhex("00000005 00001068") + bytes(800))
    index = offset_index(tmp_path)
    assert index.load()
    assert (len(index), index.position_for(105)) == (1, 4200)


@pytest.mark.parametrize("content", ["000000", "ffffffff 00000001", "00000001 ffffffff"])
def test_loading_refuses_a_file_that_cannot_be_right(tmp_path: Path, content: str) -> None:
    (tmp_path / "i").write_bytes(bytes.fromhex(content))
    assert not offset_index(tmp_path).load()


def test_full_means_no_room_for_another_entry_and_time_keeps_one_for_the_roll(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path, max_bytes=24), time_index(tmp_path, max_bytes=36)
    full = []
    for n in range(1, 4):
        offsets.append(100 + n, n)
        times.append(n, 100 + n)
        full.append((offsets.is_full, times.is_full))
    assert full == [(False, False), (False, True), (True, True)]
