"""The native and the pure-Python converter make the same of any bytes: sound ones, damaged ones, garbage."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.records import _conversion_python as python
from kcompat.records import down_convert, up_convert
from kcompat.records.batch import build_batch, frame_body
from kcompat.records.conversion import encode_wrapper
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import LEGACY_CODECS, encode_message
from kcompat.records.record import Record, append_varint, encode_records
from support.default_settings import log_settings
from support.fuzzing import exact, examples
from support.record_strategies import clipped

if TYPE_CHECKING:
    from types import ModuleType

    from kcompat.log.config import LogConfig
    from kcompat.records.compression import Codec
    from kcompat.records.validate import BatchRefusal

native: Any = pytest.importorskip("kcompat.records._conversion", exc_type=ImportError)

NOW = 1_000_000
EDGES = [0, 1, 5, -1, -2, -5, 2**31, 2**63 - 1, -(2**63)]
LONG = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(-1, 2**40) | st.sampled_from([-1, NOW - 20, NOW, NOW + 20]) | LONG
NULLABLE = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=300)
MAGICS = st.sampled_from((0, 1))
BYTE = st.sampled_from([0, 1, 2, 7, 8, 0x7E, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)


@st.composite
def mutated(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Good bytes with a few of them changed, put in or taken out, and maybe cut."""
    body = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(body)))
        kept = draw(st.integers(0, 2))
        body[at : at + kept] = bytes(draw(st.lists(BYTE, max_size=2)))
    return bytes(body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body)


RECORD = st.builds(
    Record,
    offset=st.just(0),
    timestamp=st.integers(-(2**40), 2**40),
    key=NULLABLE,
    value=NULLABLE,
    headers=st.lists(st.tuples(st.text(max_size=5), NULLABLE), max_size=3).map(tuple),
)
RECORDS = st.builds(
    lambda records, base: bytes(encode_records(records, base)),
    st.lists(RECORD, max_size=40),
    st.integers(0, 2**40),
)


@st.composite
def framed_records(draw: st.DrawFn) -> bytes:
    """Records whose lengths are right and whose insides are anything: the fields are reached."""
    body = bytearray()
    for _ in range(draw(st.integers(1, 5))):
        inside = bytearray(1)
        for value in draw(st.lists(st.integers(-3, 20) | LONG, max_size=8)):
            append_varint(inside, value)
        inside += draw(st.binary(max_size=12))
        append_varint(body, len(inside))
        body += inside
    return bytes(body)


MESSAGE = st.builds(
    encode_message,
    offset=LONG,
    magic=MAGICS,
    attributes=st.sampled_from([0, 0, 0, 8, 1, 4, 7, 0x70, -16]),
    timestamp=TIMES,
    key=NULLABLE,
    value=NULLABLE,
)


@st.composite
def alike(draw: st.DrawFn) -> bytes:
    """Plain messages of one magic."""
    magic = draw(MAGICS)
    rows = draw(st.lists(st.tuples(LONG, TIMES, NULLABLE, NULLABLE, st.sampled_from([0, 0, 8])), max_size=30))
    return b"".join(
        encode_message(offset, magic, mark, timestamp, key, value)
        for offset, timestamp, key, value, mark in rows
    )


@st.composite
def framed_messages(draw: st.DrawFn) -> bytes:
    """Messages whose CRC is right and whose insides are anything."""
    out = bytearray()
    for _ in range(draw(st.integers(1, 5))):
        inside = bytearray(draw(st.sampled_from([b"\0\0", b"\1\0", b"\1\x08", b"\2\0"])))
        for value in draw(st.lists(st.integers(-3, 12) | st.sampled_from([-(2**31), 2**31 - 1]), max_size=5)):
            inside += struct.pack(">i", value)
        inside += draw(st.binary(max_size=16))
        out += struct.pack(">qiI", draw(LONG), len(inside) + 4, crc32(inside)) + inside
    return bytes(out)


MESSAGES = alike() | st.lists(MESSAGE, max_size=8).map(b"".join)
RECORD_BYTES = RECORDS | clipped(RECORDS) | mutated(RECORDS) | framed_records() | st.binary(max_size=100)
MESSAGE_BYTES = MESSAGES | clipped(MESSAGES) | mutated(MESSAGES) | framed_messages() | st.binary(max_size=100)
POSITION = st.just(0) | st.integers(0, 5)
ROOM = st.integers(-1, 300) | st.just(1 << 20) | st.just(2**63 - 1)
MARKS = st.sampled_from([0, 8])
DOWN = st.tuples(ROOM, MAGICS, MARKS, LONG, LONG, LONG, st.just(-1) | LONG)
"""Room, magic, attributes, base offset, base timestamp, first offset, origin."""
UP = st.tuples(
    ROOM,
    st.integers(20, 200) | st.just(2**31),
    MAGICS,
    st.integers(0, 15),
    st.integers(0, 3) | st.integers(0, 2**30),
    TIMES,
    st.sampled_from([NOW - 10, -(2**63)]) | LONG,
    st.sampled_from([NOW + 10, 2**63 - 1]) | LONG,
)
"""Room, largest message, magic, flags, index, base timestamp, earliest, latest."""


@given(RECORD_BYTES, POSITION, DOWN)
@settings(max_examples=examples(500), deadline=None)
def test_both_write_the_same_messages(data: bytes, position: int, numbers: tuple[int, ...]) -> None:
    arguments = data, min(position, len(data)), *numbers
    assert native.write_messages(exact(data), *arguments[1:]) == python.write_messages(*arguments)


@given(MESSAGE_BYTES, POSITION, UP)
@settings(max_examples=examples(500), deadline=None)
def test_both_write_the_same_records(data: bytes, position: int, numbers: tuple[int, ...]) -> None:
    arguments = data, min(position, len(data)), *numbers
    assert native.write_records(exact(data), *arguments[1:]) == python.write_records(*arguments)


@given(st.binary(max_size=300), LONG, MAGICS, st.integers(0, 15), LONG)
@settings(deadline=None)
def test_both_write_the_same_wrappers(
    packed: bytes, offset: int, magic: int, attributes: int, timestamp: int
) -> None:
    arguments = packed, offset, magic, attributes, timestamp
    assert native.write_wrapper(exact(packed), *arguments[1:]) == python.write_wrapper(*arguments)


def converted(chosen: ModuleType, data: bytes, magic: int, first_offset: int) -> list[bytes] | str:
    """The pieces, or what is wrong."""
    down_convert.write_messages = chosen.write_messages  # type: ignore[attr-defined]
    try:
        return list(down_convert.down_convert(memoryview(data), magic, first_offset))
    except RecordsDamaged as damage:
        return str(damage)
    finally:
        down_convert.write_messages = native.write_messages  # type: ignore[attr-defined]


@given(RECORD_BYTES, st.sampled_from(LEGACY_CODECS), MAGICS, MARKS, st.integers(-2, 50))
@settings(deadline=None)
def test_both_convert_a_batch_down_alike(
    body: bytes, codec: Codec, magic: int, mark: int, first_offset: int
) -> None:
    batch = bytes(frame_body(bytearray(body), codec | mark, 1, NOW, NOW + 5, base_offset=40))
    arguments = batch, magic, 40 + first_offset
    assert converted(native, *arguments) == converted(python, *arguments)


TOPICS = st.builds(
    log_settings,
    cleanup_policy=st.sampled_from([frozenset({"delete"}), frozenset({"delete"}), frozenset({"compact"})]),
    timestamp_type=st.sampled_from(["CreateTime", "CreateTime", "LogAppendTime"]),
    message_timestamp_before_max_ms=st.sampled_from([2**63 - 1, 10]),
    message_timestamp_after_max_ms=st.sampled_from([2**63 - 1, 10]),
    max_message_bytes=st.sampled_from([1 << 20, 1 << 20, 200]),
    compression_type=st.sampled_from(["producer", "producer", "uncompressed", "zstd"]),
)


@st.composite
def wrapped(draw: st.DrawFn) -> bytes:
    """A wrapper around anything, and maybe something behind it."""
    inner = draw(MESSAGE_BYTES)
    wrapper = encode_wrapper(
        inner,
        draw(st.sampled_from(LEGACY_CODECS[1:])),
        draw(MAGICS),
        last_offset=draw(LONG),
        attributes=draw(st.sampled_from([0, 8])),
        timestamp=draw(TIMES),
    )
    return wrapper + draw(st.just(b"") | MESSAGE_BYTES)


def taken(chosen: ModuleType, data: bytes, topic: LogConfig) -> bytes | BatchRefusal | None:
    """The batch to store, why there is none, or None."""
    up_convert.write_records = chosen.write_records  # type: ignore[attr-defined]
    try:
        outcome = up_convert.accept_old(memoryview(data), topic, topic.compression, NOW)
    finally:
        up_convert.write_records = native.write_records  # type: ignore[attr-defined]
    return bytes(outcome[0]) if isinstance(outcome, tuple) else outcome


@given(MESSAGE_BYTES | wrapped(), TOPICS)
@settings(max_examples=examples(300), deadline=None)
def test_both_take_and_refuse_the_same(data: bytes, topic: LogConfig) -> None:
    assert taken(native, data, topic) == taken(python, data, topic)


@given(st.lists(RECORD, min_size=1, max_size=20), MAGICS, st.integers(1, 400))
@settings(deadline=None)
def test_room_ends_a_call_and_loses_nothing(records: list[Record], magic: int, room: int) -> None:
    body = memoryview(bytes(build_batch(records)))[61:]
    whole = native.write_messages(body, 0, 2**40, magic, 0, 7, 0, 0, 0)[0]
    pieces, position = [], 0
    while position < len(body):
        piece, position, *_ = native.write_messages(body, position, room, magic, 0, 7, 0, 0, 0)
        pieces.append(piece)
    assert all(len(piece) >= room for piece in pieces[:-1])
    assert b"".join(pieces) == whole
