"""Varints and single records, against literal bytes."""

from __future__ import annotations

import pytest

from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import (
    Record,
    append_varint,
    encode_records,
    read_varint,
    split_records,
)

MINIMAL = bytes.fromhex("0c 00 00 00 01 01 00")
VARINTS = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7e"),
    (-64, "7f"),
    (64, "8001"),
    (8191, "fe7f"),
    (8192, "808001"),
    (2**31 - 1, "feffffff0f"),
    (-(2**31), "ffffffff0f"),
]


@pytest.mark.parametrize(("value", "encoded"), VARINTS)
def test_varints(value: int, encoded: str) -> None:
    out = bytearray()
    append_varint(out, value)
    assert out.hex() == encoded
    assert read_varint(b"\xff" + bytes(out) + b"\x00", 1) == (value, 1 + len(out))


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**40])
def test_long_varints(value: int) -> None:
    out = bytearray()
    append_varint(out, value)
    assert read_varint(bytes(out), 0, max_bytes=10) == (value, len(out))
    with pytest.raises(RecordsDamaged):
        read_varint(bytes(out), 0)


@pytest.mark.parametrize("data", ["", "80", "ffffffff", "808080808000"])
def test_a_varint_has_an_end(data: str) -> None:
    with pytest.raises(RecordsDamaged, match="no varint"):
        read_varint(bytes.fromhex(data), 0)


def test_the_smallest_record() -> None:
    assert encode_records([Record(0, 7, None, None)], 7) == MINIMAL


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 50, 10_000])
def test_records_are_found_whatever_the_pieces(piece: int) -> None:
    records = [Record(i, 0, None, b"v" * size) for i, size in enumerate([0, 1, 100, 5000, 63, 64, 3])]
    data = bytes(encode_records(records, 0))
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    found = list(split_records(pieces))
    assert [len(body) for body in found] == [6, 7, 107, 5007, 69, 71, 9]
    assert found == list(split_records([data]))


@pytest.mark.parametrize("data", ["01", "0c 00 00", "80", "80 80 80 80 80 01", "fe ff ff ff 0f 00 00"])
def test_bytes_that_are_no_whole_record(data: str) -> None:
    with pytest.raises(RecordsDamaged):
        list(split_records([bytes.fromhex(data)]))


def test_no_bytes_are_no_records() -> None:
    assert list(split_records([])) == []
    assert list(split_records([b"", b""])) == []
