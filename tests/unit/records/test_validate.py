"""Produced records that a leader refuses, with Kafka's error for each."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import msgspec
import pytest
from crc32c import crc32c

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import BatchHeader, build_batch, read_header
from kcompat.records.compression import Codec, compress
from kcompat.records.record import Record, append_varint
from kcompat.records.validate import BatchRefusal, check_produced

if TYPE_CHECKING:
    from collections.abc import Callable

UNBOUNDED = 2**63 - 1


class Rules(msgspec.Struct, frozen=True):
    max_message_bytes: int = 1048588
    compacts: bool = False
    stamps_append_time: bool = False
    message_timestamp_before_max_ms: int = UNBOUNDED
    message_timestamp_after_max_ms: int = UNBOUNDED


NOW = 1_700_000_000_000
ANY = Rules()


def batch(*records: Record, **fields: object) -> bytearray:
    return build_batch(records or (Record(0, NOW, b"k", b"v"),), **fields)  # type: ignore[arg-type]


def check(data: bytes | bytearray, rules: Rules = ANY, version: int = 9) -> BatchHeader | BatchRefusal:
    return check_produced(memoryview(data), version, rules, NOW)


def error(data: bytes | bytearray, rules: Rules = ANY, version: int = 9) -> ErrorCode:
    outcome = check(data, rules, version)
    assert isinstance(outcome, BatchRefusal), outcome
    assert outcome.message
    return outcome.error


def patched(
    position: int, layout: str, value: int, seal: bool = True, data: bytearray | None = None
) -> bytearray:
    data = batch(Record(0, NOW, b"k", b"v"), Record(0, NOW, b"k", b"v")) if data is None else data
    struct.pack_into(layout, data, position, value)
    if seal:
        struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return data


@pytest.mark.parametrize("codec", Codec)
def test_a_good_batch_is_taken(codec: Codec) -> None:
    data = batch(Record(0, NOW, b"k", b"v"), Record(0, -5, None, None), codec=codec)
    assert check(data) == read_header(data)


def test_an_idempotent_transactional_batch_is_taken() -> None:
    data = batch(producer_id=1, producer_epoch=-1, base_sequence=0, transactional=True, leader_epoch=77)
    assert check(data) == read_header(data)


def test_unknown_attribute_bits_and_any_client_leader_epoch_are_taken() -> None:
    assert isinstance(check(patched(21, ">h", 0x7F80)), BatchHeader)
    assert isinstance(check(patched(12, ">i", -7)), BatchHeader)


@pytest.mark.parametrize("length", [0, 1, 11])
def test_nothing_that_could_be_a_batch(length: int) -> None:
    assert error(batch()[:length]) is ErrorCode.INVALID_RECORD


def test_a_batch_cut_short_anywhere() -> None:
    data = batch()
    assert {error(data[:cut]) for cut in range(len(data))} == {ErrorCode.INVALID_RECORD}


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13])
def test_a_length_no_batch_has(length: int) -> None:
    assert error(patched(8, ">i", length)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [14, 48])
def test_a_batch_shorter_than_its_header(length: int) -> None:
    assert error(patched(8, ">i", length)[: 12 + length]) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("magic", "expected"),
    [(-1, ErrorCode.CORRUPT_MESSAGE), (0, ErrorCode.INVALID_RECORD), (1, ErrorCode.INVALID_RECORD)]
    + [(magic, ErrorCode.CORRUPT_MESSAGE) for magic in (3, 127, -128)],
)
def test_other_magics(magic: int, expected: ErrorCode) -> None:
    assert error(patched(16, ">b", magic)) is expected


@pytest.mark.parametrize("rest", [b"x", bytes(11), bytes(8) + b"\x00\x00\x00\x0e" + bytes(4)])
def test_bytes_after_the_batch_that_are_no_whole_batch_are_ignored(rest: bytes) -> None:
    data = batch()
    assert check(data + rest) == read_header(data)
    assert check(data + data[:-1]) == read_header(data)


def test_two_batches() -> None:
    assert error(batch() + batch()) is ErrorCode.INVALID_RECORD
    assert error(batch() + bytes(40)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(("version", "taken"), [(3, False), (6, False), (7, True), (12, True)])
def test_zstd_needs_version_7(version: int, taken: bool) -> None:
    data = batch(codec=Codec.ZSTD)
    if taken:
        assert isinstance(check(data, version=version), BatchHeader)
    else:
        assert error(data, version=version) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs(codec: int) -> None:
    assert error(patched(21, ">h", codec)) is ErrorCode.INVALID_RECORD


def test_a_base_offset() -> None:
    assert error(batch(base_offset=1)) is ErrorCode.INVALID_RECORD


def test_a_batch_may_be_as_large_as_the_topic_allows() -> None:
    data = batch(Record(0, NOW, None, b"x" * 1000))
    assert isinstance(check(data, Rules(max_message_bytes=len(data))), BatchHeader)
    assert error(data, Rules(max_message_bytes=len(data) - 1)) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_large_batch_is_too_large_before_it_is_corrupt() -> None:
    data = batch(Record(0, NOW, None, b"x" * 1000))
    data[-1] ^= 1
    assert error(data, Rules(max_message_bytes=500)) is ErrorCode.MESSAGE_TOO_LARGE


def test_every_flipped_bit_under_the_crc_is_corrupt() -> None:
    data = batch()
    for position in range(17, len(data)):
        data[position] ^= 0x80
        assert error(data) is ErrorCode.CORRUPT_MESSAGE, position
        data[position] ^= 0x80


@pytest.mark.parametrize(
    ("delta", "count"), [(-1, 0), (1, 0), (1, 1), (1, 3), (0, 2), (2**31 - 1, -(2**31)), (2**30 - 1, 2**30)]
)
def test_counts_that_lie(delta: int, count: int) -> None:
    assert error(patched(57, ">i", count, data=patched(23, ">i", delta))) is ErrorCode.INVALID_RECORD


def test_control_records() -> None:
    assert error(batch(control=True)) is ErrorCode.INVALID_RECORD


def test_a_producer_id_without_a_sequence() -> None:
    assert error(batch(producer_id=1, producer_epoch=0)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", Codec)
def test_a_compacted_topic_names_each_record_without_a_key(codec: Codec) -> None:
    keys = [b"a", None, b"", None]
    data = batch(*(Record(0, NOW, key, b"v") for key in keys), codec=codec)
    outcome = check(data, Rules(compacts=True))
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error is ErrorCode.INVALID_RECORD
    assert [index for index, _ in outcome.record_errors] == [1, 3]
    assert all(message for _, message in outcome.record_errors)
    assert isinstance(check(batch(Record(0, NOW, b"", None)), Rules(compacts=True)), BatchHeader)


@pytest.mark.parametrize(
    "damage",
    [
        lambda: patched(61, ">b", 0x7E),  # the first record runs past the end
        lambda: patched(23, ">i", 0, data=patched(57, ">i", 1)),  # one record more than counted
        lambda: patched(64, ">b", 2),  # the first record says that it is the second
        lambda: patched(21, ">h", Codec.GZIP),  # falsely marked gzip
    ],
)
@pytest.mark.parametrize("rules", [ANY, Rules(compacts=True), Rules(stamps_append_time=True)])
def test_damaged_records(damage: Callable[[], bytearray], rules: Rules) -> None:
    assert error(damage(), rules) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", Codec)
def test_the_largest_timestamp_is_set_right(codec: Codec) -> None:
    times = [NOW - 1, NOW, NOW - 9]
    good = batch(*(Record(0, time, None, b"v") for time in times), codec=codec)
    lying = patched(35, ">q", NOW + 10**9, data=bytearray(good))
    assert check(lying + b"rest") == read_header(good)
    stamped = bytes(lying)
    assert check(stamped, Rules(stamps_append_time=True)) == read_header(stamped)
    assert check(lying) == read_header(good)
    assert lying == good


def test_a_batch_without_times_has_none_as_its_largest() -> None:
    data = batch(Record(0, -5, None, None), Record(0, -7, None, None))
    assert check(data) == read_header(data)
    assert read_header(data).max_timestamp == -1


def test_a_good_batch_need_not_be_writable() -> None:
    data = bytes(batch())
    assert check(data) == read_header(data)


def test_a_bomb_is_refused_while_looking_at_records() -> None:
    data = batch()
    huge = bytearray()
    append_varint(huge, 79 << 20)  # the length of a record that would be whole
    data[61:] = compress(Codec.ZSTD, bytes(huge) + bytes(80 << 20))
    patched(21, ">h", Codec.ZSTD, data=patched(8, ">i", len(data) - 12, data=data))
    assert error(data) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("bad", [Record(0, NOW, None, b"v"), Record(0, 5, b"k", b"v")])
def test_a_refusal_lists_so_many_records_and_no_more(bad: Record) -> None:
    outcome = check(batch(*[bad] * 1500), Rules(compacts=True, message_timestamp_before_max_ms=1000))
    assert isinstance(outcome, BatchRefusal)
    assert [index for index, _ in outcome.record_errors] == list(range(1000))


def test_timestamps_out_of_the_topics_bounds() -> None:
    rules = Rules(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=10)
    times = [NOW - 1000, NOW - 1001, NOW + 10, NOW + 11, -1]
    outcome = check(batch(*(Record(0, time, None, None) for time in times)), rules)
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in outcome.record_errors] == [1, 3]


def test_a_bad_timestamp_names_the_error_among_others() -> None:
    rules = Rules(compacts=True, message_timestamp_before_max_ms=0)
    outcome = check(batch(Record(0, NOW, None, None), Record(0, 5, None, None)), rules)
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in outcome.record_errors] == [0, 1, 1]


def test_no_bounds_where_the_broker_sets_the_time() -> None:
    rules = Rules(
        stamps_append_time=True, message_timestamp_before_max_ms=0, message_timestamp_after_max_ms=0
    )
    assert isinstance(check(batch(Record(0, 5, None, None)), rules), BatchHeader)


def test_only_a_topic_with_the_brokers_time_refuses_a_client_that_sets_it() -> None:
    data = batch(Record(0, NOW, None, None), Record(0, NOW, None, None), log_append_time=NOW)
    assert isinstance(check(data), BatchHeader)
    outcome = check(data, Rules(stamps_append_time=True))
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in outcome.record_errors] == [0, 1]
