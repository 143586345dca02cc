"""Configuration changes over the wire: they are shown, obeyed, and kept over a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
LINES = build_batch(
    [
        Record(
            0,
            0,
            None,
            b" ".join(b"%d %x %d" % (n, n * 7919 % 977, n * n * 104729 % 99991) for n in range(5000)),
        )
    ]
)


def client_of(broker: Broker) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


@pytest.fixture
def client() -> Iterator[RawClient]:
    with Broker() as broker, client_of(broker) as connection:
        yield connection


def alter(client: RawClient, kind: int, name: str, key: str, operation: int, value: str | None) -> int:
    element = IncrementalAlterConfigsRequest.AlterableConfig(key, operation, value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [element])
    answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]
    return int(answer.error_code)


def described(client: RawClient, kind: int, name: str, key: str) -> tuple[Any, int]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(kind, name, [key])
    (row,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results[0].configs
    return row.value, row.config_source


def size_accepted(client: RawClient, size: int) -> bool:
    batch = build_batch([Record(0, 0, None, b"x" * size)])
    error = produce(client, "t", batch).error_code
    assert error in (ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE)
    return bool(error == ErrorCode.NONE)


def test_a_topic_obeys_its_own_limit_at_once(client: RawClient) -> None:
    create_topic(client, "t")
    assert size_accepted(client, 5000)
    assert alter(client, TOPIC, "t", "max.message.bytes", SET, "1000") == 0
    assert described(client, TOPIC, "t", "max.message.bytes") == ("1000", 1)
    assert not size_accepted(client, 5000)
    assert alter(client, TOPIC, "t", "max.message.bytes", DELETE, None) == 0
    assert size_accepted(client, 5000)


def test_a_broker_value_reaches_the_topics_that_do_not_override_it(client: RawClient) -> None:
    create_topic(client, "t")
    assert alter(client, BROKER, "", "message.max.bytes", SET, "1000") == 0
    assert described(client, TOPIC, "t", "max.message.bytes") == ("1000", 3)
    assert not size_accepted(client, 5000)
    assert alter(client, BROKER, "1", "message.max.bytes", SET, "9000") == 0
    assert described(client, TOPIC, "t", "max.message.bytes") == ("9000", 2)
    assert size_accepted(client, 5000)
    assert alter(client, TOPIC, "t", "max.message.bytes", SET, "1000") == 0
    assert not size_accepted(client, 5000)


def size_packed(client: RawClient) -> int:
    """How large a batch is stored that was produced uncompressed."""
    answer = produce(client, "packed", LINES)
    assert answer.error_code == 0
    return len(fetch(client, "packed", answer.base_offset).records)


def test_the_level_of_a_topics_codec_is_obeyed_at_once(client: RawClient) -> None:
    key = "compression.gzip.level"
    create_topic(client, "packed", configs={"compression.type": "gzip"})
    usual = size_packed(client)
    assert alter(client, TOPIC, "packed", key, SET, "1") == 0
    large = size_packed(client)
    assert alter(client, TOPIC, "packed", key, SET, "9") == 0
    small = size_packed(client)
    assert small < large
    assert small < usual
    assert alter(client, TOPIC, "packed", key, SET, "10") == ErrorCode.INVALID_CONFIG
    assert size_packed(client) == small
    assert alter(client, TOPIC, "packed", key, DELETE, None) == 0
    assert size_packed(client) == usual
    assert alter(client, BROKER, "", key, SET, "1") == 0
    assert described(client, TOPIC, "packed", key) == ("1", 3)
    assert size_packed(client) == large


def test_changes_survive_a_restart(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        create_topic(client, "t", configs={"segment.bytes": "2000"})
        assert alter(client, TOPIC, "t", "retention.ms", SET, "5000") == 0
        assert alter(client, BROKER, "", "log.retention.bytes", SET, "77") == 0
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        assert described(client, TOPIC, "t", "retention.ms") == ("5000", 1)
        assert described(client, TOPIC, "t", "segment.bytes") == ("2000", 1)
        assert described(client, TOPIC, "t", "retention.bytes") == ("77", 3)
