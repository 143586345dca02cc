"""Records as messages and messages as records, natively and in Python, against literal bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.records._python import Fault
from kcompat.records.conversion import FIRST, Flag
from kcompat.records.message_set import encode_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from kcompat.records._python import Buffer

RECORDS = bytes.fromhex("0c 00 00 00 01 01 00" + "16 00 0a 02 02 6b 02 76 02 02 68 01")
"""Without key and value; then 5 ms later k and v, with a header."""
WITHOUT_HEADERS = bytes.fromhex("0c 00 00 00 01 01 00" + "10 00 0a 02 02 6b 02 76 00")
MAGIC_0 = (
    bytes.fromhex("0000000000000028 0000000e a7ec6803 00 00 ffffffff ffffffff"),
    bytes.fromhex("0000000000000029 00000010 1fecd70a 00 00 00000001 6b 00000001 76"),
)
"""The records as messages of magic 0, at offsets 40 and 41."""
MAGIC_1 = (
    bytes.fromhex("0000000000000000 00000016 cda0a971 01 00 0000000000000064 ffffffff ffffffff"),
    bytes.fromhex("0000000000000001 00000018 25121913 01 00 0000000000000069 00000001 6b 00000001 76"),
)
"""The records as messages of magic 1, at offsets 0 and 1."""
SET_0, SET_1 = b"".join(MAGIC_0), b"".join(MAGIC_1)
LARGEST = 2**31
NEVER, EVER = -(2**63), 2**63 - 1


def as_messages(converter: ModuleType, data: Buffer, magic: int, **more: int) -> Any:
    numbers = {"position": 0, "room": 1000, "magic": magic, "attributes": 0}
    numbers |= {"base_offset": 40, "base_timestamp": 100, "first_offset": 0, "origin": 0} | more
    return converter.write_messages(data, *numbers.values())


def as_records(converter: ModuleType, data: Buffer, magic: int, **more: int) -> Any:
    numbers = {"position": 0, "room": 1000, "largest": LARGEST, "magic": magic, "flags": 0, "index": 0}
    numbers |= {"base_timestamp": 0, "earliest": NEVER, "latest": EVER} | more
    return converter.write_records(data, *numbers.values())


def test_records_as_messages(converter: ModuleType) -> None:
    assert as_messages(converter, RECORDS, 0) == (SET_0, 19, Fault.WHOLE, 2, 0, 41, 105)
    for origin in (40, FIRST):
        assert as_messages(converter, RECORDS, 1, origin=origin) == (
            SET_1,
            19,
            Fault.WHOLE,
            2,
            40,
            41,
            105,
        )


def test_no_records(converter: ModuleType) -> None:
    assert as_messages(converter, b"", 1, origin=FIRST) == (b"", 0, Fault.WHOLE, 0, FIRST, -1, -1)
    assert as_records(converter, b"", 1, base_timestamp=7) == (b"", 0, 0, 7, -1, -1)


def test_room_for_one_and_the_rest(converter: ModuleType) -> None:
    assert as_messages(converter, RECORDS, 0, room=0) == (b"", 0, Fault.WHOLE, 0, 0, -1, -1)
    assert as_messages(converter, RECORDS, 0, room=1) == (MAGIC_0[0], 7, Fault.WHOLE, 1, 0, 40, 100)
    assert as_messages(converter, RECORDS, 0, room=27)[:2] == (SET_0, 19)
    rest = as_messages(converter, RECORDS, 1, position=7, origin=40)
    assert rest == (MAGIC_1[1], 19, Fault.WHOLE, 1, 40, 41, 105)


def test_those_before_an_offset_are_left_out(converter: ModuleType) -> None:
    assert as_messages(converter, RECORDS, 0, first_offset=41)[0] == MAGIC_0[1]
    assert as_messages(converter, RECORDS, 0, first_offset=42) == (b"", 19, Fault.WHOLE, 2, 0, 41, 105)


def test_the_brokers_time_is_that_of_all(converter: ModuleType) -> None:
    marked, *rest = as_messages(converter, RECORDS, 1, attributes=8)
    assert marked == encode_message(40, 1, 8, 100, None, None) + encode_message(41, 1, 8, 100, b"k", b"v")
    assert rest[-1] == 100


@pytest.mark.parametrize(
    ("damaged", "fault"),
    [
        ("80", Fault.CUT),
        ("0c 00 00 00 01 01", Fault.CUT),
        ("01", Fault.LENGTH),
        ("80 80 80 80 80", Fault.VARINT),
        ("0c 00 00 00 06 01 00", Fault.FIELD),
        ("0c 00 00 00 01 01 02", Fault.HEADER_COUNT),
        ("10 00 00 00 01 01 02 01 01", Fault.HEADER_KEY),
        ("0e 00 00 00 01 01 00 00", Fault.LEFT_OVER),
    ],
)
def test_the_first_fault_ends_it(converter: ModuleType, damaged: str, fault: Fault) -> None:
    data = RECORDS + bytes.fromhex(damaged)
    assert as_messages(converter, data, 0) == (SET_0, 19, fault, 2, 0, 41, 105)


def test_messages_as_records(converter: ModuleType) -> None:
    assert as_records(converter, SET_1, 1) == (WITHOUT_HEADERS, len(SET_1), 2, 100, 105, 1)
    timeless = WITHOUT_HEADERS[:9] + b"\0" + WITHOUT_HEADERS[10:]
    assert as_records(converter, SET_0, 0) == (timeless, len(SET_0), 2, -1, -1, 41)


def test_the_rest_of_a_set(converter: ModuleType) -> None:
    rest = as_records(converter, SET_1, 1, position=34, index=1, base_timestamp=100)
    assert rest == (WITHOUT_HEADERS[7:], len(SET_1), 1, 100, 105, 1)
    assert as_records(converter, SET_1, 1, room=6) == (WITHOUT_HEADERS[:7], 34, 1, 100, 100, 0)
    assert as_records(converter, SET_1, 1, room=7)[1] == len(SET_1)
    assert as_records(converter, SET_1, 1, room=-1)[2] == 0


@pytest.mark.parametrize("size", range(len(MAGIC_1[1])))
def test_it_ends_at_a_message_that_is_cut(converter: ModuleType, size: int) -> None:
    assert as_records(converter, MAGIC_1[0] + MAGIC_1[1][:size], 1)[1:3] == (34, 1)


@pytest.mark.parametrize("at", range(8, len(MAGIC_1[1])))
def test_it_ends_at_a_flipped_bit(converter: ModuleType, at: int) -> None:
    damaged = bytearray(SET_1)
    damaged[34 + at] ^= 0x10
    assert as_records(converter, bytes(damaged), 1)[1:3] == (34, 1)


@pytest.mark.parametrize(
    "other",
    [
        MAGIC_0[0],
        encode_message(0, 1, 1, 100, None, b"packed"),
        encode_message(0, 1, 0, -2, None, None),
        encode_message(0, 1, 0, 100, None, b"too large"),
        bytes.fromhex("0000000000000000 0000000e a319b83e 02 00 ffffffff ffffffff"),
        bytes.fromhex("0000000000000000 00000015 4e493afe 01 00 000000000000000000000000000000"),
    ],
)
def test_it_ends_where_anything_else_stands(converter: ModuleType, other: bytes) -> None:
    assert as_records(converter, MAGIC_1[0] + other, 1, largest=40)[1:3] == (34, 1)


def test_it_ends_at_a_message_that_the_topic_does_not_take(converter: ModuleType) -> None:
    assert as_records(converter, SET_1, 1, flags=Flag.KEYS_WANTED)[2] == 0
    assert as_records(converter, SET_1, 1, position=34, flags=Flag.KEYS_WANTED)[2] == 1
    assert as_records(converter, SET_1, 1, latest=104)[2] == 1
    assert as_records(converter, SET_1, 1, earliest=101)[2] == 0
    assert as_records(converter, SET_1, 1, earliest=100, latest=105)[2] == 2
    assert as_records(converter, SET_0, 0, earliest=100, latest=105)[2] == 2
    assert as_records(converter, SET_1, 1, latest=0, flags=Flag.BROKERS_TIME)[2] == 2


def test_whose_mark_counts(converter: ModuleType) -> None:
    for timestamp, flags, taken in ((5, 0, 1), (-1, 0, 0), (5, Flag.BROKERS_TIME, 0), (-1, Flag.INSIDE, 1)):
        marked = encode_message(0, 1, 8, timestamp, None, None)
        assert as_records(converter, marked, 1, flags=flags)[2] == taken
    inside = Flag.INSIDE | Flag.MARKED
    assert as_records(converter, SET_1, 1, flags=inside, base_timestamp=7)[2:5] == (2, 7, 7)
    assert as_records(converter, SET_1, 1, flags=inside, base_timestamp=-1)[2] == 0


WRAPPERS = (
    bytes.fromhex("0000000000000029 00000010 cb5d6c24 00 02 ffffffff 00000002 0102"),
    bytes.fromhex("0000000000000029 00000018 033880d0 01 0b 0000000000000069 ffffffff 00000002 0102"),
)
"""A value of two bytes at offset 41: snappy in magic 0, lz4 and the broker's time, 105, in magic 1."""


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_wrappers(converter: ModuleType, kind: Callable[[bytes], Any]) -> None:
    packed = kind(b"\1\2")
    assert converter.write_wrapper(packed, 41, 0, 2, 105) == WRAPPERS[0]
    assert converter.write_wrapper(packed, 41, 1, 8 | 3, 105) == WRAPPERS[1]
    assert converter.write_wrapper(kind(b""), 41, 0, 2, 105) == encode_message(41, 0, 2, 105, None, b"")


@pytest.mark.parametrize("position", [-1, 1, 2**40])
def test_no_position_outside(converter: ModuleType, position: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        as_messages(converter, b"", 0, position=position)
    with pytest.raises(ValueError, match="outside"):
        as_records(converter, b"", 0, position=position)


def test_any_buffer_and_nothing_else(converter: ModuleType) -> None:
    for kind in (bytearray, memoryview, lambda data: memoryview(bytearray(data))[:]):
        assert as_messages(converter, kind(RECORDS), 0)[0] == SET_0
        assert as_records(converter, kind(SET_1), 1)[0] == WITHOUT_HEADERS
    for function in (converter.write_messages, converter.write_records, converter.write_wrapper):
        for arguments in ((), (b"",), (b"",) + (0,) * 12):
            with pytest.raises(TypeError):
                function(*arguments)


def test_every_length_has_the_right_crc(converter: ModuleType) -> None:
    """The native one takes eight bytes at a time."""
    for size in range(40):
        message = encode_message(0, 0, 0, -1, None, bytes(range(size)))
        record, end, *_ = as_records(converter, message, 0)
        assert end == len(message)
        assert as_messages(converter, record, 0, base_offset=0)[0] == message
