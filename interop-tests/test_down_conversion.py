"""Answers to Fetch versions 0 to 3, byte by byte: the same for a real Kafka and for us."""

from __future__ import annotations

import itertools
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest

import old_messages as old
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch, iter_headers, read_records
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch
from test_produced_batches import NOT_YET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.broker_process import BrokerProcess

NOW = int(time.time() * 1000)
RECORDS = [
    Record(0, NOW + 5, b"key", b"value" * 20, (("h", b"1"), ("h", None))),
    Record(1, NOW, None, b"", ()),
    Record(2, NOW + 9, b"", None, ()),
    Record(3, NOW - 7, b"k" * 300, b"v" * 3000, ()),
]
OLD_VERSIONS = (0, 1, 2, 3)
MAGIC = (0, 0, 1, 1)
OVERFLOW_MINIMUM = 61


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(("127.0.0.1", broker.port)) as opened:
        yield opened


def make_topic(client: RawClient, name: str, configs: Mapping[str, str] | None = None) -> None:
    assert create_topic(client, name, configs=configs) == 0
    while fetch(client, name, 0).error_code in NOT_YET:
        pass


def produce(client: RawClient, topic: str, data: bytes, version: int) -> int:
    """Write what must be taken; the base offset."""
    row = ProduceRequest.PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[row])],
    )
    answer = client.call(request, version).responses[0].partition_responses[0]
    assert answer.error_code == 0
    return int(answer.base_offset)


def read(
    client: RawClient, topic: str, version: int, offset: int = 0, partition_bytes: int = 1 << 20, **more: int
) -> Any:
    """One partition's part of an answer to this version of Fetch."""
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=partition_bytes)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchRequest.FetchTopic(topic=topic, partitions=[row])], **more
    )
    return client.call(request, version).responses[0].partitions[0]


def raw_size(client: RawClient, topic: str, offset: int = 0, **limits: int) -> int:
    """Bytes of the stored batches that a fetch finds."""
    return len(read(client, topic, 10, offset, **limits).records)


def written(magic: int, codec: str, records: list[Record] = RECORDS) -> bytes:
    """The records as a client of that format sends them."""
    if magic == 2:
        return bytes(build_batch(records, codec=Codec[codec.upper()]))
    messages = [
        old.message(magic, index if codec != "none" else 0, r.key, r.value, r.timestamp)
        for index, r in enumerate(records)
    ]
    if codec == "none":
        return b"".join(messages)
    newest = max(record.timestamp for record in records)
    return old.wrap(magic, len(records) - 1, b"".join(messages), old.CODECS[codec], newest)


def expected(magic: int, records: list[Record], base: int = 0, marks: int = 0) -> bytes:
    """The records as plain messages at absolute offsets."""
    return b"".join(
        old.message(magic, base + index, record.key, record.value, record.timestamp, marks)
        for index, record in enumerate(records)
    )


def check_filled(data: bytes, messages: bytes, raw: int, first: int | None = None) -> None:
    """Check the records for an old client: the messages, cut or filled up to the stored size."""
    size = max(raw, len(messages) if first is None else first)
    assert len(data) == size
    assert data[: len(messages)] == messages[:size]
    room = size - len(messages)
    if room > 0:
        head = struct.pack(">qi", -1, max(room + 1, OVERFLOW_MINIMUM))
        assert data[len(messages) :] == (head + bytes(room))[:room]


@pytest.mark.parametrize("version", OLD_VERSIONS)
@pytest.mark.parametrize(
    ("magic", "codec"),
    [*itertools.product((0, 1, 2), ("none", "gzip", "snappy", "lz4")), (2, "zstd")],
)
def test_written_and_read(client: RawClient, name: str, magic: int, codec: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(magic, codec), {0: 1, 1: 2, 2: 9}[magic])
    answer = read(client, name, version)
    if codec == "zstd":
        assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert answer.high_watermark == -1
        assert answer.records is None
        return
    assert (answer.error_code, answer.high_watermark) == (0, 4)
    data = bytes(answer.records)
    stored = [r if magic else Record(r.offset, -1, r.key, r.value) for r in RECORDS]
    raw = raw_size(client, name)
    if codec == "none":
        check_filled(data, expected(MAGIC[version], stored), raw)
        return
    (wrapper,) = old.split(data)
    newest = max(record.timestamp for record in stored) if MAGIC[version] else -1
    assert wrapper[:5] == (3, MAGIC[version], old.CODECS[codec], newest, None)
    assert wrapper.value is not None
    assert old.unpack(MAGIC[version], wrapper.value, old.CODECS[codec]) == expected(MAGIC[version], stored)
    check_filled(data, old.message(wrapper.magic, 3, None, wrapper.value, newest, wrapper.attributes), raw)


@pytest.mark.parametrize("version", [4, 9, 10, 12])
@pytest.mark.parametrize(
    ("magic", "codec"),
    [*itertools.product((0, 1, 2), ("none", "gzip", "snappy", "lz4")), (2, "zstd")],
)
def test_stored_as_a_batch(client: RawClient, name: str, magic: int, codec: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(magic, codec), {0: 0, 1: 2, 2: 9}[magic])
    batch = memoryview(bytes(read(client, name, version).records))
    ((_, header),) = iter_headers(batch)
    assert Codec(header.codec).name.lower() == codec
    assert (header.record_count, header.producer_id, header.attributes & ~7) == (4, -1, 0)
    assert header.max_timestamp == (NOW + 9 if magic else -1)
    got = list(read_records(batch))
    if magic == 2:
        assert got == RECORDS
    else:
        assert got == [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in RECORDS]


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_plain_records_before_the_offset_are_left_out(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(2, "none"), 9)
    data = bytes(read(client, name, version, offset=2).records)
    later = [Record(0, r.timestamp, r.key, r.value) for r in RECORDS[2:]]
    check_filled(data, expected(MAGIC[version], later, base=2), raw_size(client, name))


@pytest.mark.parametrize("version", OLD_VERSIONS)
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_compressed_records_before_the_offset_stay(
    client: RawClient, name: str, codec: str, version: int
) -> None:
    make_topic(client, name)
    produce(client, name, written(2, codec), 9)
    found = old.flatten(bytes(read(client, name, version, offset=2).records))
    assert [message.offset for message in found] == [0, 1, 2, 3]


@pytest.mark.parametrize("version", OLD_VERSIONS)
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_append_time(client: RawClient, name: str, codec: str, version: int) -> None:
    make_topic(client, name, {"message.timestamp.type": "LogAppendTime"})
    produce(client, name, written(2, codec), 9)
    batch = memoryview(bytes(read(client, name, 10).records))
    ((_, header),) = iter_headers(batch)
    magic = MAGIC[version]
    data = bytes(read(client, name, version).records)
    outer = next(old.split(data))
    assert outer.attributes == Codec[codec.upper()] | (old.APPEND_TIME if magic else 0)
    assert outer.timestamp == (header.max_timestamp if magic else -1)
    for inner in old.flatten(data):
        assert inner.timestamp == (header.max_timestamp if magic else -1)
        assert inner.attributes & old.APPEND_TIME == (old.APPEND_TIME if magic else 0)


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_the_limit_of_a_partition(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name)
    for _ in range(3):
        produce(client, name, written(2, "none"), 9)
    one = expected(MAGIC[version], RECORDS)
    first = len(one)
    small = read(client, name, version, partition_bytes=100)
    assert small.error_code == 0
    if version < 3:
        assert not small.records
    else:
        check_filled(bytes(small.records), one, raw_size(client, name, partition_bytes=100))
    size = raw_size(client, name) // 3
    some = bytes(read(client, name, version, partition_bytes=size + 50).records)
    check_filled(some, one, size + 50, first)
    most = bytes(read(client, name, version, partition_bytes=3 * size - 1).records)
    check_filled(most, one + expected(MAGIC[version], RECORDS, 4), 3 * size - 1, first)


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_the_limit_of_the_answer(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(2, "none"), 9)
    data = bytes(read(client, name, version, max_bytes=100).records)
    check_filled(data, expected(MAGIC[version], RECORDS), raw_size(client, name))


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_nothing_at_the_end_and_beyond_it(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(2, "none"), 9)
    at_end = read(client, name, version, offset=4)
    assert (at_end.error_code, at_end.high_watermark, bytes(at_end.records)) == (0, 4, b"")
    beyond = read(client, name, version, offset=5)
    assert (beyond.error_code, beyond.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert read(client, f"{name}-none", version).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_plain_data_before_zstd(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name)
    produce(client, name, written(2, "none"), 9)
    produce(client, name, written(2, "zstd"), 9)
    before = read(client, name, version)
    assert before.error_code == 0
    check_filled(bytes(before.records), expected(MAGIC[version], RECORDS), raw_size(client, name))
    assert read(client, name, version, offset=4).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert read(client, name, version, offset=8).error_code == 0


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4, 9, 10])
def test_a_topic_that_demands_zstd(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name, {"compression.type": "zstd"})
    error = 0 if version >= 10 else ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert read(client, name, version).error_code == error
    produce(client, name, written(0, "none"), 1)
    assert read(client, name, version).error_code == error


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4, 11])
def test_conversion_forbidden(client: RawClient, name: str, version: int) -> None:
    make_topic(client, name, {"message.downconversion.enable": "false"})
    error = 0 if version >= 4 else ErrorCode.UNSUPPORTED_VERSION
    assert read(client, name, version).error_code == error
    produce(client, name, written(0, "none"), 1)
    answer = read(client, name, version)
    assert answer.error_code == error
    assert (answer.records is not None) == (version >= 4)
    beyond = read(client, name, version, offset=9)
    assert beyond.error_code == (error or ErrorCode.OFFSET_OUT_OF_RANGE)


@pytest.mark.parametrize("format_version", ["0.8.0", "0.9.0.1", "0.10.2", "0.11.0-IV2", "2.8", "3.9"])
def test_the_format_of_a_topic_is_accepted_and_changes_nothing(
    client: RawClient, name: str, format_version: str
) -> None:
    make_topic(client, name, {"message.format.version": format_version})
    produce(client, name, written(1, "none"), 2)
    ((_, header),) = iter_headers(memoryview(bytes(read(client, name, 4).records)))
    assert (header.magic, header.record_count) == (2, 4)
