"""The level at which the broker itself compresses (KIP-390): of the topic, and changed while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record
from support.eventually import Patience
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, produce, read_all
from test_produced_batches import NOT_YET

if TYPE_CHECKING:
    from support.broker_process import BrokerProcess

TOPIC, SET = 2, 0
LINES = [
    b'{"id":%d,"user":"%x","took":%d}' % (n, n * 7919 % 977, n * n * 104729 % 99991) for n in range(6000)
]
RECORDS = [Record(offset, 0, None, b"\n".join(LINES[offset::3])) for offset in range(3)]
BATCH = build_batch(RECORDS)


def alter(client: RawClient, name: str, key: str, level: str) -> tuple[ErrorCode, str | None]:
    """The answer to setting a key of a topic."""
    element = IncrementalAlterConfigsRequest.AlterableConfig(key, SET, level)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, name, [element])
    answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]
    return ErrorCode(answer.error_code), answer.error_message


def stored(client: RawClient, name: str, batch: bytes | bytearray = BATCH) -> bytes:
    """Return the batch as the broker stores it."""
    answer = produce(client, name, batch)
    while answer.error_code in NOT_YET:
        answer = produce(client, name, batch)
    assert answer.error_code == 0
    return bytes(fetch(client, name, answer.base_offset).records)


def create(client: RawClient, name: str, codec: str, level: str) -> int:
    """The error code of creating a topic of a codec with its level."""
    configs = {"compression.type": codec, f"compression.{codec}.level": level}
    return create_topic(client, name, configs=configs)


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        ("gzip", ("1", "5", "6", "9")),
        ("lz4", ("9", "1", "8", "17")),
        ("zstd", ("-131072", "-5", "3", "22")),
    ],
)
def test_levels_from_large_to_small(
    codec: str, levels: tuple[str, ...], broker: BrokerProcess, name: str
) -> None:
    """LZ4's 9 is its default and means another, quicker method than all other levels."""
    sizes = []
    with RawClient(("127.0.0.1", broker.port)) as client:
        for level in levels:
            topic = f"{name}.{level}"
            assert create(client, topic, codec, level) == ErrorCode.NONE
            sizes.append(len(stored(client, topic)))
            assert [record.value for record in read_all(client, topic)] == [row.value for row in RECORDS]
    assert sorted(set(sizes), reverse=True) == sizes


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_new_level_is_that_of_later_batches(codec: str, broker: BrokerProcess, name: str) -> None:
    key = f"compression.{codec}.level"
    low, high = ("-5" if codec == "zstd" else "1"), "17" if codec == "lz4" else "9"
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create(client, name, codec, low) == ErrorCode.NONE
        large = len(stored(client, name))
        assert alter(client, name, key, high) == (ErrorCode.NONE, None)
        small = await_size_other_than(large, client, name)
        assert small < large
        assert alter(client, name, key, low) == (ErrorCode.NONE, None)
        assert await_size_other_than(small, client, name) == large


def await_size_other_than(before: int, client: RawClient, name: str) -> int:
    """A real Kafka answers a change before its logs obey it."""
    patience = Patience(20)
    while (size := len(stored(client, name))) == before:
        assert patience.lasts, "the new level is not obeyed"
    return size


def test_what_has_the_codec_stays_at_its_producers_level(broker: BrokerProcess, name: str) -> None:
    batch = build_batch(RECORDS, codec=Codec.GZIP)
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create(client, name, "gzip", "1") == ErrorCode.NONE
        assert stored(client, name, batch)[HEADER_SIZE:] == batch[HEADER_SIZE:]


@pytest.mark.parametrize(
    ("codec", "level", "why"),
    [
        ("gzip", "0", "Value must be between 1 and 9 or equal to -1"),
        ("gzip", "10", "Value must be between 1 and 9 or equal to -1"),
        ("gzip", "-2", "Value must be between 1 and 9 or equal to -1"),
        ("lz4", "0", "Value must be at least 1"),
        ("lz4", "18", "Value must be no more than 17"),
        ("zstd", "-131073", "Value must be at least -131072"),
        ("zstd", "23", "Value must be no more than 22"),
        ("zstd", "high", "Not a number of type INT"),
    ],
)
def test_levels_that_a_codec_does_not_have(
    codec: str, level: str, why: str, broker: BrokerProcess, name: str
) -> None:
    key = f"compression.{codec}.level"
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create(client, f"{name}.refused", codec, level) == ErrorCode.INVALID_CONFIG
        assert create(client, name, codec, "1") == ErrorCode.NONE
        refusal = ErrorCode.INVALID_CONFIG, f"Invalid value {level} for configuration {key}: {why}"
        assert alter(client, name, key, level) == refusal
