"""Batches, codecs and varints round trip; damage is always reported as damage."""

from __future__ import annotations

import struct

import msgspec
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.records._python import read_varint
from kcompat.records.batch import build_batch, crc_matches, iter_headers, read_header, read_records
from kcompat.records.compression import Codec, compress, decompress
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import Record, append_varint
from kcompat.records.validate import BatchRefusal, check_produced
from support.record_strategies import CODECS, RECORDS, fields


@given(RECORDS, CODECS, st.integers(0, 2**62))
def test_records_round_trip(records: list[Record], codec: Codec, base_offset: int) -> None:
    batch = memoryview(build_batch(records, codec=codec, base_offset=base_offset))
    header = read_header(batch)
    assert [header] == [found for _, found in iter_headers(batch)]
    assert crc_matches(batch, 0, len(batch))
    read = list(read_records(batch))
    assert [record.offset for record in read] == list(range(base_offset, header.next_offset))
    assert list(map(fields, read)) == list(map(fields, records))


@given(RECORDS, st.randoms(use_true_random=False))
def test_damage_is_reported_as_damage(records: list[Record], random: object) -> None:
    batch = build_batch(records)
    for _ in range(10):
        batch[random.randrange(61, len(batch))] = random.randrange(256)  # type: ignore[attr-defined]
        try:
            read = list(read_records(memoryview(batch)))
        except RecordsDamaged:
            continue
        assert len(read) == len(records)


@given(st.sampled_from([codec for codec in Codec if codec]), st.binary(max_size=5000), st.data())
@settings(deadline=None)
def test_damaged_compressed_bytes_are_reported_as_damage(
    codec: Codec, data: bytes, draw: st.DataObject
) -> None:
    packed = bytearray(compress(codec, data * 3))
    position = draw.draw(st.integers(0, len(packed) - 1))
    packed[position] ^= draw.draw(st.integers(1, 255))
    try:
        unpacked = b"".join(decompress(codec, packed))
    except RecordsDamaged:
        return
    assert len(unpacked) <= 64 * len(data) + 1024


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    out = bytearray()
    append_varint(out, value)
    assert len(out) <= 10
    assert read_varint(bytes(out), 0, len(out), longest=10) == (value, len(out))


class Rules(msgspec.Struct):
    max_message_bytes: int = 1 << 20
    compacts: bool = False
    stamps_append_time: bool = False
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 2**63 - 1


@given(RECORDS, CODECS, st.booleans(), st.integers(0, 17), st.data())
@settings(deadline=None)
def test_a_leader_takes_a_batch_or_refuses_it(
    records: list[Record], codec: Codec, compacts: bool, version: int, draw: st.DataObject
) -> None:
    batch = build_batch(records, codec=codec)
    sealed = draw.draw(st.booleans())
    for _ in range(draw.draw(st.integers(1, 4))):
        batch[draw.draw(st.integers(0, len(batch) - 1))] = draw.draw(st.integers(0, 255))
    if sealed:
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    outcome = check_produced(memoryview(batch), version, Rules(compacts=compacts), 0)
    if isinstance(outcome, BatchRefusal):
        assert outcome.error
    else:
        assert crc_matches(memoryview(batch), 0, outcome.size)
        assert outcome.next_offset > 0
