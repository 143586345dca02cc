"""Messages of magic 0 and 1, by literal bytes."""

from __future__ import annotations

import pytest

from kcompat.records.compression import Codec
from kcompat.records.conversion import encode_wrapper
from kcompat.records.errors import MessageCorrupt, MessageTooLarge, RecordsDamaged
from kcompat.records.legacy_lz4 import with_old_checksum, with_right_checksum
from kcompat.records.message_set import (
    MAGIC_V0,
    MAGIC_V1,
    LegacyMessage,
    encode_message,
    inner_messages,
    read_messages,
    shallow_messages,
)

V0 = bytes.fromhex("0000000000000007 00000010 1fecd70a 00 00 00000001 6b 00000001 76".replace(" ", ""))
V1 = bytes.fromhex(
    "0000000000000007 00000016 f8f5ad8b 01 00 0000000000003039 ffffffff 00000000".replace(" ", "")
)

LONG = bytes.fromhex("0000000000000007 7fffff00 1fecd70a 00 00 00000001 6b 7ffffe00".replace(" ", ""))
"""The beginning of a message of 2 GB."""


def wrapped(
    magic: int, codec: Codec, offsets: list[int], last: int, attributes: int = 0, timestamp: int = 99
) -> bytes:
    inner = b"".join(encode_message(at, magic, attributes, 10 + at, b"k", b"v") for at in offsets)
    return encode_wrapper(inner, codec, magic, last_offset=last, attributes=attributes, timestamp=timestamp)


def test_a_message_of_each_magic() -> None:
    assert encode_message(7, MAGIC_V0, 0, 12345, b"k", b"v") == V0
    assert encode_message(7, MAGIC_V1, 0, 12345, None, b"") == V1
    assert list(shallow_messages(V0 + V1)) == [
        LegacyMessage(7, 0, 0, -1, b"k", b"v"),
        LegacyMessage(7, 1, 0, 12345, None, b""),
    ]


@pytest.mark.parametrize("size", range(len(V0)))
def test_the_last_message_may_be_cut_anywhere(size: int) -> None:
    assert len(list(shallow_messages(V1 + V0[:size]))) == 1


@pytest.mark.parametrize("at", range(12, len(V0)))
def test_a_flipped_bit_is_seen(at: int) -> None:
    damaged = bytearray(V0)
    damaged[at] ^= 0x10
    with pytest.raises(MessageCorrupt):
        list(shallow_messages(bytes(damaged)))


@pytest.mark.parametrize("size", ["00000000", "0000000d", "ffffffff", "80000000"])
def test_a_size_that_no_message_has(size: str) -> None:
    with pytest.raises(MessageCorrupt):
        list(shallow_messages(V0[:8] + bytes.fromhex(size) + V0[12:]))


def test_a_message_may_be_too_large() -> None:
    assert len(list(shallow_messages(V0, len(V0)))) == 1
    with pytest.raises(MessageTooLarge):
        list(shallow_messages(V0, len(V0) - 1))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_inner_offsets_are_absolute_in_magic_0(codec: Codec) -> None:
    data = wrapped(MAGIC_V0, codec, [40, 42, 45], 45)
    assert [(m.offset, m.timestamp) for m in read_messages(data)] == [(40, -1), (42, -1), (45, -1)]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_inner_offsets_are_relative_in_magic_1(codec: Codec) -> None:
    data = wrapped(MAGIC_V1, codec, [0, 2, 5], 45)
    assert [(m.offset, m.timestamp) for m in read_messages(data)] == [(40, 10), (42, 12), (45, 15)]


def test_a_wrapper_at_offset_0_is_relative_to_nothing() -> None:
    assert [m.offset for m in read_messages(wrapped(MAGIC_V1, Codec.GZIP, [0, 1, 2], 0))] == [0, 1, 2]


def test_the_wrapper_says_whose_time_it_is() -> None:
    (outer,) = shallow_messages(wrapped(MAGIC_V1, Codec.GZIP, [0, 1], 1, attributes=8))
    assert [(m.timestamp, m.uses_log_append_time) for m in inner_messages(outer)] == [(99, True)] * 2
    inside = encode_message(0, MAGIC_V1, 8, 10, None, None)
    marked = encode_wrapper(inside, Codec.GZIP, MAGIC_V1, last_offset=0, attributes=0, timestamp=99)
    (outer,) = shallow_messages(marked)
    assert [(m.timestamp, m.uses_log_append_time) for m in inner_messages(outer)] == [(10, False)]


def test_the_lz4_header_checksum_of_magic_0() -> None:
    """Frame magic, version and flags 60, block size 40: the checksum is 82, over the magic too it is 1a."""
    right = bytes.fromhex("04224d18604082")
    assert with_old_checksum(right) == bytes.fromhex("04224d1860401a")
    assert with_right_checksum(with_old_checksum(right)) == right
    (outer,) = shallow_messages(wrapped(MAGIC_V0, Codec.LZ4, [0], 0))
    assert outer.value is not None
    assert outer.value[:7] == bytes.fromhex("04224d1860401a")
    (outer,) = shallow_messages(wrapped(MAGIC_V1, Codec.LZ4, [0], 0))
    assert outer.value is not None
    assert outer.value[:7] == right


def test_lz4_with_a_content_size() -> None:
    frame = bytes.fromhex("04224d18 6840 0100000000000000 00 00000000".replace(" ", ""))
    right = with_right_checksum(frame)
    assert right == frame[:14] + b"\x2c" + frame[15:]
    assert with_old_checksum(right)[15:] == frame[15:]
    assert with_old_checksum(right) != right


@pytest.mark.parametrize("size", [0, 4, 5, 6])
def test_lz4_without_a_whole_header(size: int) -> None:
    with pytest.raises(RecordsDamaged):
        with_right_checksum(bytes.fromhex("04224d1860401a")[:size])


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (encode_message(0, 0, 4, 0, None, b"zstd"), "codec 4"),
        (encode_message(0, 0, 7, 0, None, b"?"), "codec 7"),
        (encode_message(0, 0, 1, 0, None, None), "without a value"),
        (encode_wrapper(b"", Codec.GZIP, 0, last_offset=0, attributes=0, timestamp=0), "nothing inside"),
        (encode_wrapper(V1, Codec.GZIP, 0, last_offset=7, attributes=0, timestamp=0), "magic 1 inside"),
        (encode_wrapper(V0, Codec.GZIP, 1, last_offset=7, attributes=0, timestamp=0), "magic 0 inside"),
        (wrapped(MAGIC_V1, Codec.GZIP, [0, 1, 2], 1), "at 1 whose last message is at 2"),
        (
            encode_wrapper(
                wrapped(0, Codec.GZIP, [0], 0), Codec.GZIP, 0, last_offset=0, attributes=0, timestamp=0
            ),
            "inside a compressed",
        ),
    ],
)
def test_wrappers_that_are_none(data: bytes, complaint: str) -> None:
    with pytest.raises(RecordsDamaged, match=complaint):
        list(read_messages(data))


@pytest.mark.parametrize(("inner", "complaint"), [(b"", "a message of 0 bytes"), (LONG, "bound")])
def test_a_wrapper_is_opened_within_a_bound(inner: bytes, complaint: str) -> None:
    bomb = encode_wrapper(inner + bytes(80 << 20), Codec.GZIP, 0, last_offset=0, attributes=0, timestamp=0)
    with pytest.raises(RecordsDamaged, match=complaint):
        list(read_messages(bomb))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("size", [10, 300_000, 700_001])
def test_a_wrapper_is_unpacked_in_pieces(codec: Codec, size: int) -> None:
    sizes = [size] * 3 + [0, size, 5, 1]
    inner = b"".join(encode_message(at, 0, 0, -1, None, bytes(n)) for at, n in enumerate(sizes))
    data = encode_wrapper(inner, codec, 0, last_offset=6, attributes=0, timestamp=0)
    assert [len(message.value or b"") for message in read_messages(data)] == sizes
    cut = encode_wrapper(inner[:-1], codec, 0, last_offset=6, attributes=0, timestamp=0)
    assert [len(message.value or b"") for message in read_messages(cut)] == sizes[:-1]


def test_twelve_bytes_that_begin_no_message() -> None:
    assert list(shallow_messages(V0[:12])) == []
    with pytest.raises(MessageCorrupt):
        list(shallow_messages(bytes(12)))
