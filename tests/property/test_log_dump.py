"""`kcompat log dump` on bytes that nobody meant: it says what is wrong and never fails."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcompat.log.dump.rows import DAMAGE, Row, as_json, as_text
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, files_in
from kcompat.records.batch import build_batch, seal
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record

NAMES = (
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000000.snapshot",
    "leader-epoch-checkpoint",
    "recovery-point-offset-checkpoint",
    "partition.metadata",
    "meta.properties",
    ".kafka_cleanshutdown",
)


def dumped(files: dict[str, bytes]) -> list[Row]:
    with tempfile.TemporaryDirectory() as parent:
        directory = Path(parent) / "__consumer_offsets-0"
        directory.mkdir()
        for name, content in files.items():
            (directory / name).write_bytes(content)
        dumper = Dumper(Depth(deep=True, verify=True))
        rows = [row for file in files_in([parent]) for row in dumper.rows(file)]
    for row in rows:
        assert "\n" not in as_json("f", row) + as_text("f", row)
    return rows


def valid_log() -> bytes:
    offset = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    batches = [
        build_batch([Record(0, 5, offset, b"\0\3" + bytes(30))], base_offset=number, codec=codec)
        for number, codec in enumerate(Codec)
    ]
    marker = EndTransactionMarker(ControlType.ABORT, 3)
    control = build_marker(marker, producer_id=1, producer_epoch=0, timestamp=5, leader_epoch=-1)
    control[:8] = struct.pack(">q", 5)
    old = [encode_message(6, 0, 0, -1, b"k", b"v"), encode_message(7, 1, 0, 5, None, None)]
    return b"".join([*batches, control, *old])


@given(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=300)))
def test_any_bytes(files: dict[str, bytes]) -> None:
    dumped(files)


@given(st.data())
def test_any_change_of_a_log(data: st.DataObject) -> None:
    content = bytearray(valid_log())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    dumped({NAMES[0]: bytes(content[: data.draw(st.integers(0, len(content)))])})


@given(st.integers(61, 250), st.integers(0, 255), st.integers(0, 2**15 - 1))
@example(61, 255, 0)
def test_records_that_lie_under_a_right_crc(at: int, value: int, attributes: int) -> None:
    batch = build_batch([Record(0, 5, b"\0\1" + bytes(20), b"\0\3" + bytes(60), (("h", b"x"),))] * 2)
    batch[min(at, len(batch) - 1)] = value
    seal(batch, attributes)
    dumped({NAMES[0]: bytes(batch)})


def test_a_valid_log_has_no_damage() -> None:
    assert [row for row in dumped({NAMES[0]: valid_log()}) if row.kind == DAMAGE] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file(name: str) -> None:
    dumped({name: b""})
