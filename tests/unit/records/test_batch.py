"""The batch header, what a leader writes into it, and batches built and read back, against literal bytes."""

from __future__ import annotations

import pytest

from kcompat.records.batch import (
    assign,
    build_batch,
    crc_matches,
    iter_headers,
    read_header,
    read_records,
    set_log_append_time,
)
from kcompat.records.compression import Codec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record

# One record, key "k", value "v", header h=x, at timestamp 1600000000000, from an idempotent producer.
GOLDEN = bytes.fromhex(
    "0000000000000000"  # base offset
    "0000003e"  # batch length
    "ffffffff"  # leader epoch
    "02"  # magic
    "68cce109"  # CRC-32C, the same from another implementation
    "0000"  # attributes
    "00000000"  # last offset delta
    "00000174876e8000"  # base timestamp
    "00000174876e8000"  # max timestamp
    "0000000000000005"  # producer id
    "0001"  # producer epoch
    "00000007"  # base sequence
    "00000001"  # record count
    "18" "00" "00" "00" "02" "6b" "02" "76" "02" "02" "68" "02" "78"
)  # fmt: skip


def golden() -> bytearray:
    return build_batch(
        [Record(0, 1600000000000, b"k", b"v", (("h", b"x"),))],
        producer_id=5,
        producer_epoch=1,
        base_sequence=7,
    )


def test_a_built_batch_has_kafkas_layout() -> None:
    assert golden() == GOLDEN
    assert crc_matches(memoryview(GOLDEN), 0, len(GOLDEN))


def test_the_header_reads_back() -> None:
    header = read_header(golden())
    assert header.size == len(GOLDEN) == 12 + header.batch_length
    assert (header.base_offset, header.last_offset, header.next_offset) == (0, 0, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (
        5,
        1,
        7,
        7,
    )
    assert header.max_timestamp == 1600000000000
    flags = (header.is_transactional, header.is_control, header.uses_log_append_time)
    assert flags == (False, False, False)
    assert not header.has_delete_horizon


def test_the_header_reads_at_a_position() -> None:
    assert read_header(b"\xff" * 5 + golden(), 5) == read_header(golden())


@pytest.mark.parametrize(
    ("base", "count", "last"),
    [(0, 1, 0), (5, 3, 7), (2**31 - 1, 1, 2**31 - 1), (2**31 - 1, 2, 0), (-1, 2, -1)],
)
def test_sequences_wrap_to_zero(base: int, count: int, last: int) -> None:
    records = [Record(0, 0, None, None)] * count
    assert read_header(build_batch(records, base_sequence=base)).last_sequence == last


def test_the_crc_covers_everything_after_it_and_nothing_before() -> None:
    batch = golden()
    for position in (0, 7, 12, 15, 16):
        batch[position] ^= 0x01
        assert crc_matches(memoryview(batch), 0, len(batch))
    for position in range(17, len(batch)):
        batch[position] ^= 0x10
        assert not crc_matches(memoryview(batch), 0, len(batch))
        batch[position] ^= 0x10


def test_assign_writes_offset_and_epoch_only() -> None:
    batch = bytearray(golden())
    assign(batch, 2**40, 12)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (2**40, 12)
    assert crc_matches(memoryview(batch), 0, header.size)
    assert batch[8:12] + batch[16:] == golden()[8:12] + golden()[16:]


def test_log_append_time_is_every_records_time() -> None:
    batch = build_batch([Record(0, 10, None, b"a"), Record(0, 30, None, b"b")])
    assert read_header(batch).max_timestamp == 30
    set_log_append_time(memoryview(batch), 0, 99)
    header = read_header(batch)
    assert header.uses_log_append_time
    assert (header.base_timestamp, header.max_timestamp) == (10, 99)
    assert crc_matches(memoryview(batch), 0, len(batch))
    assert [record.timestamp for record in read_records(memoryview(batch))] == [99, 99]
    assert build_batch([Record(0, 10, None, b"a"), Record(0, 30, None, b"b")], log_append_time=99) == batch


def test_iter_headers_stops_before_a_batch_that_is_cut_short() -> None:
    first, second = golden(), build_batch([Record(0, 0, None, b"x" * 100)], base_offset=1)
    both = memoryview(first + second)
    assert [(at, header.base_offset) for at, header in iter_headers(both)] == [(0, 0), (len(first), 1)]
    for cut in range(len(first), len(both)):
        assert [at for at, _ in iter_headers(both[:cut])] == [0]
    assert list(iter_headers(both[:60])) == []


@pytest.mark.parametrize("length", [-(2**31), -13, -12, 0, 48])
def test_iter_headers_ends_at_a_length_no_batch_has(length: int) -> None:
    batch = golden()
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    assert list(iter_headers(memoryview(batch))) == []


def test_flags() -> None:
    header = read_header(
        build_batch([Record(0, 0, b"", b"")], transactional=True, control=True, codec=Codec.LZ4)
    )
    assert header.is_transactional
    assert header.is_control
    assert header.codec == Codec.LZ4


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_at_absolute_offsets(codec: Codec) -> None:
    records = [
        Record(100, 5, None, None),
        Record(101, 3, b"", b""),
        Record(102, -1, b"key", b"x" * 70_000, (("a", None), ("", b""), ("a", b"again"))),
    ]
    batch = build_batch(records, base_offset=100, codec=codec)
    assert list(read_records(memoryview(batch))) == records
    assert read_header(batch).max_timestamp == 5


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("count", [0, 1, 3, 2**31 - 1])
def test_a_record_count_that_lies_is_damage(codec: Codec, count: int) -> None:
    batch = build_batch([Record(0, 0, b"k", b"v")] * 2, codec=codec)
    batch[57:61] = count.to_bytes(4, "big")
    with pytest.raises(RecordsDamaged, match="header counts"):
        list(read_records(memoryview(batch)))


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(AssertionError):
        build_batch([])


def test_the_header_is_61_bytes() -> None:
    assert len(build_batch([Record(0, 0, None, None)])) == HEADER_SIZE + 7
