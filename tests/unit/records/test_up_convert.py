"""Conversion of old Produce requests to batches; interop tests have all that is refused."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from kcompat.records.compression import Codec, compress
from kcompat.records.conversion import encode_wrapper
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from kcompat.records.up_convert import accept_old
from kcompat.records.validate import BatchRefusal
from support.default_settings import log_settings

NOW = 1_000_000
FIELDS = [(b"k", b"v", 5000), (None, b"", 4000), (b"", None, 6000)]
OLD_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def accepted(data: bytes, **config: object) -> bytes:
    """The stored batch; its header must be the one that came with it."""
    rules = log_settings(**config)
    outcome = accept_old(memoryview(bytearray(data)), rules, rules.compression, NOW)
    assert isinstance(outcome, tuple)
    batch, header = outcome
    assert header == read_header(batch)
    assert header.size == len(batch)
    assert crc_matches(batch, 0, len(batch))
    return bytes(batch)


def refused(data: bytes, **config: object) -> ErrorCode:
    rules = log_settings(**config)
    outcome = accept_old(memoryview(data), rules, rules.compression, NOW)
    assert isinstance(outcome, BatchRefusal)
    return outcome.error


def plain(magic: int) -> bytes:
    return b"".join(
        encode_message(at, magic, 0, timestamp, key, value)
        for at, (key, value, timestamp) in enumerate(FIELDS)
    )


def wrapper(magic: int, codec: Codec) -> bytes:
    return encode_wrapper(plain(magic), codec, magic, last_offset=2, attributes=0, timestamp=6000)


def records(magic: int) -> list[Record]:
    return [
        Record(at, timestamp if magic else -1, key, value)
        for at, (key, value, timestamp) in enumerate(FIELDS)
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_plain_messages(magic: int) -> None:
    assert accepted(plain(magic)) == build_batch(records(magic))
    assert accepted(plain(magic) + plain(magic)[:20]) == build_batch(records(magic))


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_keeps_its_codec(magic: int, codec: Codec) -> None:
    assert accepted(wrapper(magic, codec)) == build_batch(records(magic), codec=codec)


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("magic", [0, 1])
def test_the_codec_of_the_topic_wins(magic: int, target: str) -> None:
    codec = Codec.NONE if target == "uncompressed" else Codec[target.upper()]
    expected = build_batch(records(magic), codec=codec)
    assert accepted(plain(magic), compression_type=target) == expected
    assert accepted(wrapper(magic, Codec.LZ4), compression_type=target) == expected


@pytest.mark.parametrize("magic", [0, 1])
def test_the_level_of_the_topic_wins(magic: int) -> None:
    plain_records = bytes(build_batch(records(magic))[61:])
    for data in (plain(magic), wrapper(magic, Codec.LZ4)):
        for level in (1, 9):
            stored = accepted(data, compression_type="gzip", compression_gzip_level=level)
            assert stored[61:] == compress(Codec.GZIP, plain_records, level)


def test_a_batch_stays_what_it_is() -> None:
    batch = bytes(build_batch(records(1), codec=Codec.ZSTD))
    assert accepted(batch) == batch
    assert accepted(batch + batch[:40]) == batch


@pytest.mark.parametrize("data", [b"", plain(0)[:27], bytes(build_batch(records(1)))[:-1]])
def test_nothing_whole_is_no_fault(data: bytes) -> None:
    assert accept_old(memoryview(data), log_settings(), None, NOW) is None


def test_what_the_wrapper_says_of_time_counts() -> None:
    marked = encode_wrapper(plain(1), Codec.GZIP, 1, last_offset=2, attributes=8, timestamp=7000)
    stored = list(read_records(memoryview(accepted(marked))))
    assert [record.timestamp for record in stored] == [7000] * 3


def test_one_bad_message_refuses_all() -> None:
    compact = {"cleanup_policy": frozenset({"compact"})}
    assert refused(plain(0), **compact) == ErrorCode.INVALID_RECORD
    assert refused(wrapper(1, Codec.GZIP), **compact) == ErrorCode.INVALID_RECORD
    bounds = {"message_timestamp_before_max_ms": NOW - 5000}
    assert refused(plain(1), **bounds) == ErrorCode.INVALID_TIMESTAMP
    assert accepted(plain(0), **bounds)
    assert refused(encode_message(0, 1, 0, -5, None, None)) == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", [4, 5, 6, 7])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_codec_that_the_old_formats_do_not_have(magic: int, codec: int) -> None:
    assert refused(encode_message(0, magic, codec, 0, None, b"?")) == ErrorCode.INVALID_RECORD


def test_sizes_are_checked_before_and_after() -> None:
    batch = build_batch(records(0))
    assert refused(plain(0), max_message_bytes=len(batch) - 1) == ErrorCode.MESSAGE_TOO_LARGE
    assert accepted(plain(0), max_message_bytes=len(batch)) == batch
    assert refused(plain(0), max_message_bytes=20) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_flood_of_messages_is_read_no_further_than_its_batch_is_too_large() -> None:
    flood = encode_message(0, 0, 0, -1, None, None) * 50_000
    assert refused(flood, max_message_bytes=1000) == ErrorCode.MESSAGE_TOO_LARGE
    assert refused(flood + b"x" * 30, max_message_bytes=1000) == ErrorCode.MESSAGE_TOO_LARGE


def test_the_first_message_that_is_wrong_decides() -> None:
    """Kafka goes on to the end, and names a wrong CRC before all else."""
    damaged = bytearray(plain(1))
    damaged[-1] ^= 1
    mixed = plain(0) + bytes(damaged)
    assert refused(bytes(damaged)) == ErrorCode.CORRUPT_MESSAGE
    assert refused(mixed) == ErrorCode.INVALID_RECORD
    assert refused(mixed, cleanup_policy=frozenset({"compact"})) == ErrorCode.INVALID_RECORD
    assert refused(bytes(damaged), message_timestamp_before_max_ms=1) == ErrorCode.INVALID_TIMESTAMP
