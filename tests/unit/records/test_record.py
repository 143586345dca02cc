"""Varints and records written one by one, against literal bytes."""

from __future__ import annotations

import pytest

from kcompat.records._python import read_varint
from kcompat.records.record import Record, append_varint, encode_records

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
    assert read_varint(b"\xff" + bytes(out) + b"\x00", 1, 2 + len(out)) == (value, 1 + len(out))


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**40])
def test_long_varints(value: int) -> None:
    out = bytearray()
    append_varint(out, value)
    assert read_varint(bytes(out), 0, len(out), longest=10) == (value, len(out))


def test_the_smallest_record() -> None:
    assert encode_records([Record(0, 7, None, None)], 7) == MINIMAL
