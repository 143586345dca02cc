"""Stored batches as old messages: what is kept and what is dropped."""

from __future__ import annotations

import pytest

from kcompat.records.batch import build_batch, frame_body
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.conversion import encode_wrapper
from kcompat.records.down_convert import PIECE, UnsupportedCodec, down_convert, overflow_message
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import (
    LegacyMessage,
    encode_message,
    inner_messages,
    read_messages,
    shallow_messages,
)
from kcompat.records.record import Record, append_record

RECORDS = [
    Record(0, 1000, b"k", b"v", (("h", b"x"),)),
    Record(1, 2000, None, b"", (("a", None), ("b", b"y"))),
    Record(2, 1500, b"", None),
]
MARKER = bytes(
    build_marker(
        EndTransactionMarker(ControlType.COMMIT, 3),
        producer_id=7,
        producer_epoch=1,
        timestamp=5,
        leader_epoch=2,
    )
)


def batch(codec: Codec = Codec.NONE, base: int = 40, records: list[Record] = RECORDS) -> bytes:
    """A transactional batch with everything that old formats do not know."""
    return bytes(
        build_batch(
            records,
            base_offset=base,
            codec=codec,
            producer_id=7,
            producer_epoch=1,
            base_sequence=0,
            transactional=True,
            leader_epoch=5,
        )
    )


def converted(data: bytes, magic: int, first_offset: int = 0) -> bytes:
    return b"".join(down_convert(memoryview(data), magic, first_offset))


def plain(magic: int, base: int = 40, attributes: int = 0) -> bytes:
    return b"".join(
        encode_message(base + r.offset, magic, attributes, r.timestamp, r.key, r.value) for r in RECORDS
    )


@pytest.mark.parametrize("magic", [0, 1])
def test_an_uncompressed_batch_becomes_plain_messages(magic: int) -> None:
    assert converted(batch(), magic) == plain(magic)
    assert (
        converted(batch(), magic, 41)
        == plain(magic)[len(converted(batch(), magic)) - len(converted(batch(), magic, 41)) :]
    )
    assert [m.offset for m in read_messages(converted(batch(), magic, 42))] == [42]
    assert converted(batch(), magic, 43) == b""


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_compressed_batch_becomes_one_wrapper(magic: int, codec: Codec) -> None:
    data = converted(batch(codec), magic, first_offset=42)
    inner = plain(magic, 0 if magic else 40)
    timestamp = 2000 if magic else -1
    assert data == encode_wrapper(inner, codec, magic, last_offset=42, attributes=0, timestamp=timestamp)


def test_offsets_in_a_wrapper_count_from_the_first_that_compaction_left() -> None:
    body = bytearray()
    for delta in (3, 4, 8):
        append_record(body, 10 * delta, delta, b"k", b"v")
    left = bytes(frame_body(body, Codec.GZIP, 3, 1000, 1080, base_offset=40))
    (outer,) = shallow_messages(converted(left, 1))
    assert (outer.offset, outer.timestamp) == (48, 1080)
    assert [(m.offset, m.timestamp) for m in inner_messages(outer)] == [(0, 1030), (1, 1040), (5, 1080)]
    assert [m.offset for m in inner_messages(next(shallow_messages(converted(left, 0))))] == [43, 44, 48]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_the_brokers_time(codec: Codec) -> None:
    data = bytes(build_batch(RECORDS, base_offset=40, codec=codec, log_append_time=9000))
    outer = next(shallow_messages(converted(data, 1)))
    assert (outer.attributes, outer.timestamp) == (8 | codec, 9000)
    assert {(m.timestamp, m.attributes) for m in read_messages(converted(data, 1))} == {(9000, 8)}
    assert {(m.timestamp, m.attributes) for m in read_messages(converted(data, 0))} == {(-1, 0)}


@pytest.mark.parametrize("magic", [0, 1])
def test_markers_vanish(magic: int) -> None:
    assert converted(MARKER, magic) == b""


def test_zstd_has_no_old_form() -> None:
    with pytest.raises(UnsupportedCodec):
        converted(batch(Codec.ZSTD), 1)


def test_a_record_that_lies_is_damage() -> None:
    damaged = bytearray(batch())
    damaged[61] = 0x7E
    with pytest.raises(RecordsDamaged):
        converted(bytes(damaged), 0)


@pytest.mark.parametrize("size", [12, 16, 25, 26, 60])
def test_a_batch_too_short_for_its_format_is_damage(size: int) -> None:
    with pytest.raises(RecordsDamaged):
        converted(batch()[:size], 0)


def test_big_batches_come_in_pieces() -> None:
    big = batch(records=[Record(0, 0, None, bytes(1000))] * 500)
    pieces = list(down_convert(memoryview(big), 1, 0))
    assert [len(piece) >= PIECE for piece in pieces] == [True, True, True, False]
    assert max(map(len, pieces)) < PIECE + 1100
    assert len(list(read_messages(b"".join(pieces)))) == 500


def test_what_is_stored_in_the_old_format_stays() -> None:
    message = encode_message(3, 0, 0, -1, b"k", b"v")
    assert converted(message, 0) == converted(message, 1) == message
    newer = encode_message(3, 1, 0, 77, b"k", b"v")
    assert converted(newer, 1) == newer
    assert converted(newer, 0) == encode_message(3, 0, 0, -1, b"k", b"v")
    assert converted(newer, 0, 4) == b""


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_stored_wrapper_of_magic_1_becomes_one_of_magic_0(codec: Codec) -> None:
    stored = encode_wrapper(plain(1, 0), codec, 1, last_offset=42, attributes=0, timestamp=2000)
    assert list(read_messages(converted(stored, 0))) == [
        LegacyMessage(40 + r.offset, 0, 0, -1, r.key, r.value) for r in RECORDS
    ]


@pytest.mark.parametrize(
    ("room", "data"),
    [
        (1, "ff"),
        (11, "ffffffffffffffff000000"),
        (12, "ffffffffffffffff0000003d"),
        (60, "ffffffffffffffff0000003d" + "00" * 48),
        (61, "ffffffffffffffff0000003e" + "00" * 49),
        (100, "ffffffffffffffff00000065" + "00" * 88),
    ],
)
def test_the_message_that_does_not_fit(room: int, data: str) -> None:
    assert overflow_message(room) == bytes.fromhex(data)
    assert len(overflow_message(1 << 20)) == PIECE
