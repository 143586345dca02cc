"""Scanning records, natively and in Python, against literal bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kcompat.records import scanning
from kcompat.records._python import NEVER, Fault
from kcompat.records.batch import build_batch, read_header, set_max_timestamp
from kcompat.records.compression import Codec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import Record, encode_records

if TYPE_CHECKING:
    from types import ModuleType


SMALLEST = "0c 00 00 00 01 01 00"
SECOND = "10 00 0a 02 02 6b 02 76 00"
NOTHING = (0, 0, Fault.WHOLE, -1, NEVER, 0)


def test_no_records(scanner: ModuleType) -> None:
    assert scanner.scan(b"", 0, 7) == NOTHING
    assert scanner.read(b"", 0, 10, 0, 7) == ([], 0, Fault.WHOLE)


def test_two_records(scanner: ModuleType) -> None:
    body = bytes.fromhex(SMALLEST + SECOND)
    assert scanner.scan(body, 0, 100) == (2, 16, Fault.WHOLE, 105, 100, 1)
    records = [(40, 100, None, None, ()), (41, 105, b"k", b"v", ())]
    assert scanner.read(body, 0, 10, 40, 100) == (records, 16, Fault.WHOLE)
    assert scanner.read(body, 0, 1, 40, 100) == (records[:1], 7, Fault.WHOLE)
    assert scanner.read(body, 7, 1, 40, 100) == (records[1:], 16, Fault.WHOLE)
    assert scanner.read(body, 0, 0, 40, 100) == ([], 0, Fault.WHOLE)
    assert scanner.read(body, 16, 1, 40, 100) == ([], 16, Fault.WHOLE)


@pytest.mark.parametrize("position", [-1, 1, 2**40])
def test_no_position_outside(scanner: ModuleType, position: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        scanner.read(b"", position, 1, 0, 0)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data))[:]])
def test_any_buffer(scanner: ModuleType, kind: type) -> None:
    assert scanner.scan(kind(bytes.fromhex(SMALLEST)), 0, 0)[:3] == (1, 7, Fault.WHOLE)


@pytest.mark.parametrize("arguments", [(), (b"",), (b"", 0, 0, 0, 0, 0, 0), ("text", 0, 0)])
def test_other_arguments_are_a_mistake(scanner: ModuleType, arguments: tuple[object, ...]) -> None:
    for function in (scanner.inspect, scanner.scan, scanner.read):
        with pytest.raises(TypeError):
            function(*arguments)


DAMAGED = [
    ("80", Fault.CUT),
    ("80 80 80 80", Fault.CUT),
    ("80 80 80 80 80", Fault.VARINT),
    ("80 80 80 80 80 01", Fault.VARINT),
    ("01", Fault.LENGTH),
    ("0d 00 00 00 01 01 00", Fault.LENGTH),
    ("0c 00 00 00 01 01", Fault.CUT),
    ("fe ff ff ff 0f 00", Fault.CUT),
    ("00", Fault.FIELD),
    ("02 00", Fault.VARINT),
    ("18 00 80 80 80 80 80 80 80 80 80 80 01", Fault.VARINT),
    ("12 00 00 00 80 80 80 80 80 01", Fault.VARINT),
    ("0c 00 00 00 06 01 00", Fault.FIELD),
    ("0c 00 00 00 01 04 00", Fault.FIELD),
    ("0a 00 00 00 01 01", Fault.VARINT),
    ("14 00 00 00 fe ff ff ff 0f 01 00", Fault.FIELD),
    ("0c 00 00 00 01 01 01", Fault.HEADER_COUNT),
    ("0c 00 00 00 01 01 02", Fault.HEADER_COUNT),
    ("10 00 00 00 01 01 02 01 01", Fault.HEADER_KEY),
    ("12 00 00 00 01 01 02 02 68 04", Fault.FIELD),
    ("10 00 00 00 01 01 02 02 68", Fault.VARINT),
    ("0e 00 00 00 01 01 00 00", Fault.LEFT_OVER),
    ("14 00 00 00 01 01 02 02 68 01 00", Fault.LEFT_OVER),
]


@pytest.mark.parametrize(("damaged", "fault"), DAMAGED)
def test_damage(scanner: ModuleType, damaged: str, fault: Fault) -> None:
    body = bytes.fromhex(SMALLEST + damaged)
    assert scanner.scan(body, 0, 0) == (1, 7, fault, 0, 0, 1)
    assert scanner.read(body, 0, 10, 0, 0) == ([(0, 0, None, None, ())], 7, fault)


@pytest.mark.parametrize(("damaged", "fault"), [case for case in DAMAGED if case[1] != Fault.CUT])
def test_damage_before_other_records(scanner: ModuleType, damaged: str, fault: Fault) -> None:
    body = bytes.fromhex(damaged + 3 * SECOND)
    assert scanner.scan(body, 0, 0)[:3] == (0, 0, fault)
    assert scanner.read(body, 0, 10, 0, 0) == ([], 0, fault)


def test_every_fault_has_a_case_and_a_sentence() -> None:
    assert {fault for _, fault in DAMAGED} == set(Fault) - {Fault.WHOLE, Fault.OFFSET_DELTA}
    assert set(scanning._COMPLAINTS) == set(Fault) - {Fault.WHOLE}


def test_offset_deltas_count_up_where_a_leader_looks(scanner: ModuleType) -> None:
    body = bytes.fromhex(SMALLEST + SMALLEST)
    assert scanner.scan(body, 0, 0) == (1, 7, Fault.OFFSET_DELTA, 0, 0, 1)
    assert scanner.scan(body, 1, 0)[:3] == (0, 0, Fault.OFFSET_DELTA)
    assert scanner.scan(bytes.fromhex(SECOND), 1, 0)[:3] == (1, 9, Fault.WHOLE)
    minus_one = bytes.fromhex("0c 00 00 01 01 01 00" + 2 * SECOND)
    assert scanner.scan(minus_one, 0, 0)[:3] == (0, 0, Fault.OFFSET_DELTA)
    assert scanner.scan(minus_one, -1, 0)[:3] == (1, 7, Fault.OFFSET_DELTA)
    assert scanner.scan(2 * bytes.fromhex(SMALLEST) + b"\0" * 9, -(2**63), 0)[2] == Fault.OFFSET_DELTA
    assert scanner.read(body, 0, 10, 7, 0)[0] == [(7, 0, None, None, ())] * 2


def test_timestamps(scanner: ModuleType) -> None:
    times = [5, -1, 9, -7, 3]
    body = encode_records([Record(0, time, b"", None) for time in times], 4)
    assert scanner.scan(body, 0, 4)[3:] == (9, -7, 0)
    nowhere = encode_records([Record(0, -1, b"", None)], 0)
    assert scanner.scan(nowhere, 0, 0)[3:5] == (-1, NEVER)


@pytest.mark.parametrize("bits", [6, 13, 20, 27])
def test_varints_of_every_length(scanner: ModuleType, bits: int) -> None:
    size, delta = min(1 << bits, 1 << 20), 1 << bits
    for time in (delta - 1, delta, -delta, -delta - 1):
        for key, value in ((b"k" * (size - 1), b""), (b"k" * size, b"v"), (None, b"v" * size)):
            body = encode_records([Record(0, time, key, value)] * 2, 0)
            newest, keyless = max(time, -1), 2 * (key is None)
            assert scanner.scan(body, 0, 0) == (2, len(body), Fault.WHOLE, newest, time, keyless)
            assert scanner.scan(body[:-1], 0, 0)[::2] == (1, Fault.CUT, time)


def test_offset_deltas_of_three_bytes(scanner: ModuleType) -> None:
    body = encode_records([Record(0, 5, None, b"")] * 9000, 5)
    assert scanner.scan(body, 0, 5) == (9000, len(body), Fault.WHOLE, 5, 5, 9000)


def test_sums_wrap_as_in_java(scanner: ModuleType) -> None:
    body = bytes.fromhex("0c 00 02 00 01 01 00")
    assert scanner.scan(body, 0, 2**63 - 1)[3:5] == (-1, -(2**63))
    assert scanner.read(body, 0, 1, 0, 2**63 - 1)[0][0][1] == -(2**63)
    assert scanner.read(bytes.fromhex(SECOND), 0, 1, 2**63 - 1, 0)[0][0][0] == -(2**63)


def test_long_varints_lose_the_bits_that_do_not_fit(scanner: ModuleType) -> None:
    # a key length of 1 and an offset delta of 0, each in five bytes with a bit too many
    body = bytes.fromhex("1e 00 00 80 80 80 80 10 82 80 80 80 70 6b 01 00")
    assert scanner.read(body, 0, 1, 0, 0) == ([(0, 0, b"k", None, ())], 16, Fault.WHOLE)
    longest = bytes.fromhex("1e 00 ff ff ff ff ff ff ff ff ff 7f 00 01 01 00")
    assert scanner.read(longest, 0, 1, 0, 0)[0][0][1] == -(2**63)


def test_many_headers_are_counted_in_two_bytes(scanner: ModuleType) -> None:
    records = [Record(0, 0, None, None, (("", None),) * count) for count in (63, 64, 129, 9000)]
    body = encode_records(records, 0)
    assert scanner.scan(body, 0, 0) == (4, len(body), Fault.WHOLE, 0, 0, 4)
    one_byte_of_two = bytes.fromhex("92 02 00 00 00 01 01 82 02 68 01") + b"\0\1" * 64
    assert scanner.scan(one_byte_of_two, 0, 0)[::2] == (0, Fault.VARINT, NEVER)


def test_negative_lengths_are_null_and_odd_names_are_replaced(scanner: ModuleType) -> None:
    body = bytes.fromhex("16 ff 00 00 03 05 04 02 ff 07 00 00")
    record = (0, 0, None, None, (("\N{REPLACEMENT CHARACTER}", None), ("", b"")))
    assert scanner.read(body, 0, 1, 0, 0) == ([record], 12, Fault.WHOLE)
    assert scanner.scan(body, 0, 0) == (1, 12, Fault.WHOLE, 0, 0, 1)


RECORDS = [Record(i, 10 + i, b"k" * (i % 3), b"v" * (i * 7), (("h", None),) * (i % 4)) for i in range(60)]


@pytest.mark.parametrize("codec", Codec)
def test_whole_batches(codec: Codec) -> None:
    batch = memoryview(build_batch(RECORDS, codec=codec))
    header = read_header(batch)
    assert scanning.check_records(header, batch[61:], 10**6) == (69, 10, 0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000, 10**6])
def test_any_pieces(size: int) -> None:
    body = bytes(encode_records(RECORDS, 10))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert [Record(*fields) for fields in scanning.read_records(pieces, 0, 10)] == RECORDS
    assert scanning._scan_chunks(pieces, 10, 60) == (60, Fault.WHOLE, 69, 10, 0)
    with pytest.raises(RecordsDamaged, match="index 60 is cut short"):
        list(scanning.read_records([*pieces, b"\x80"], 0, 10))
    assert scanning._scan_chunks([*pieces, b"\x80"], 10, 60)[:2] == (60, Fault.CUT)


def test_many_records_are_read_a_few_at_a_time() -> None:
    many = [Record(number, 10, b"k", b"v") for number in range(2 * scanning._SLICE + 1)]
    body = bytes(encode_records(many, 10))
    assert [Record(*fields) for fields in scanning.read_records([body], 0, 10)] == many


def test_no_more_is_unpacked_than_the_header_counts() -> None:
    pieces = iter([bytes(encode_records(RECORDS, 10)), b"more"])
    assert scanning._scan_chunks(pieces, 10, 59)[0] == 60
    assert next(pieces) == b"more"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_count_that_lies(codec: Codec) -> None:
    batch = build_batch(RECORDS, codec=codec)
    for count in (59, 61):
        batch[57:61] = count.to_bytes(4, "big")
        with pytest.raises(RecordsDamaged, match=f"60 records where the header counts {count}"):
            scanning.check_records(read_header(batch), memoryview(batch)[61:], 10**6)


def test_the_first_bad_record_is_named() -> None:
    body = encode_records(RECORDS, 10)
    with pytest.raises(RecordsDamaged, match="at index 60 has a negative length"):
        list(scanning.read_records([body + b"\x01"], 0, 10))


PLAIN = bytes(build_batch([Record(0, 1000, None, b"a"), Record(0, 990, b"k", None), Record(0, -1, b"", b"")]))
LARGEST = 2**63 - 1


def test_a_plain_batch_is_seen_at_one_look(scanner: ModuleType) -> None:
    assert scanner.inspect(PLAIN, len(PLAIN), 995, 5, 5) == (struct.unpack_from(">qiibIhiqqqhii", PLAIN), 1)


@pytest.mark.parametrize(
    "bounds",
    [
        (len(PLAIN), 0, LARGEST, LARGEST),
        (LARGEST, LARGEST, LARGEST, 0),
        (len(PLAIN), 1000, 10, 0),
        (len(PLAIN), 990, 0, 10),
    ],
)
def test_bounds_that_a_batch_keeps(scanner: ModuleType, bounds: tuple[int, ...]) -> None:
    assert scanner.inspect(PLAIN, *bounds) is not None


@pytest.mark.parametrize(
    "bounds",
    [
        (len(PLAIN) - 1, 995, 5, 5),
        (60, 995, 5, 5),
        (LARGEST, 1000, 9, 0),
        (LARGEST, 990, 0, 9),
        (LARGEST, LARGEST, LARGEST - 991, 0),
        (LARGEST, -(2**63), 0, LARGEST),
    ],
)
def test_bounds_that_a_batch_does_not_keep(scanner: ModuleType, bounds: tuple[int, ...]) -> None:
    assert scanner.inspect(PLAIN, *bounds) is None


@pytest.mark.parametrize(
    "unusual",
    [
        b"",
        PLAIN[:61],
        PLAIN[:-1],
        PLAIN + b"\0",
        bytes(build_batch(RECORDS, base_offset=1)),
        bytes(build_batch(RECORDS, codec=Codec.GZIP)),
        bytes(build_batch(RECORDS, log_append_time=69)),
        bytes(build_batch(RECORDS, log_append_time=70)),
        bytes(build_batch(RECORDS, control=True)),
        bytes(build_batch(RECORDS, producer_id=7)),
    ],
)
def test_whatever_needs_a_closer_look(scanner: ModuleType, unusual: bytes) -> None:
    assert scanner.inspect(unusual, LARGEST, 50, LARGEST, LARGEST) is None


def test_a_max_timestamp_that_lies_needs_a_closer_look(scanner: ModuleType) -> None:
    batch = build_batch(RECORDS)
    set_max_timestamp(memoryview(batch), 0, 70)
    assert scanner.inspect(batch, LARGEST, 50, LARGEST, LARGEST) is None


def test_a_crc_is_compared_by_whom_says_so(scanner: ModuleType) -> None:
    for size in (0, 100, 300, 5000):
        batch = build_batch([Record(0, 5, None, bytes(size))])
        assert scanner.inspect(batch, LARGEST, 5, 0, 0) is not None
        batch[20] ^= 1
        assert (scanner.inspect(batch, LARGEST, 5, 0, 0) is None) == scanner.checks_crc()
