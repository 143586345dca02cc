"""The offsets beside an error of Produce: as Kafka's `ReplicaManager` and `DelayedProduce` leave them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.replication.storage_config import log_config
from support.topics_on_disk import ME, TopicsFixture, batch

if TYPE_CHECKING:
    from pathlib import Path

OTHER = 2
START = 1
"""Where the log of "t" starts; its end is one behind."""


@pytest.fixture
def broker(tmp_path: Path) -> TopicsFixture:
    broker = TopicsFixture(tmp_path)
    broker.create("t")
    broker.create("append-time", message_timestamp_type="LogAppendTime")
    for topic in ("t", "append-time"):
        broker.produce((0, batch(b"a")), topic=topic)
        broker.produce((0, batch(b"b")), topic=topic)
        broker.partition(topic).delete_records_before(START)
    return broker


def lead_two(broker: TopicsFixture, topic: str = "t", leader: int = ME, epoch: int = 1) -> None:
    """Give a topic a second replica, which is in sync and has nothing of what comes next."""
    role = Role(leader=leader, leader_epoch=epoch, isr=(ME, OTHER), replicas=(ME, OTHER))
    broker.replicas.take_role(topic, 0, role)


def offsets(answer: Any) -> tuple[ErrorCode, int, int, int]:
    """Error, base offset, append time and log start of the only row."""
    (row,) = answer.responses[0].partition_responses
    return error_of(row.error_code), row.base_offset, row.log_append_time_ms, row.log_start_offset


@pytest.mark.parametrize("topic", ["t", "append-time"])
def test_a_timeout_leaves_the_offsets_of_the_append(broker: TopicsFixture, topic: str) -> None:
    lead_two(broker, topic)
    stamped = broker.clock.now_ms() if topic == "append-time" else -1
    waiting = broker.produce((0, batch(b"v")), topic=topic, acks=-1)
    broker.clock.advance(1000)
    assert offsets(waiting.value) == (ErrorCode.REQUEST_TIMED_OUT, 2, stamped, START)


def test_a_new_leader_leaves_the_offsets_of_the_append(broker: TopicsFixture) -> None:
    lead_two(broker)
    waiting = broker.produce((0, batch(b"v")), acks=-1)
    lead_two(broker, leader=OTHER, epoch=2)
    assert offsets(waiting.value) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2, -1, START)


def test_too_few_replicas_are_told_where_the_log_starts(broker: TopicsFixture) -> None:
    role = Role(leader=ME, leader_epoch=1, isr=(ME,), replicas=(ME, OTHER))
    broker.replicas.take_role("t", 0, role)
    broker.partition("t").require_in_sync(2)
    answer = broker.produce((0, batch(b"v")), acks=-1)
    assert offsets(answer) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1, -1, START)


def idempotent(sequence: int) -> bytes:
    return batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)


@pytest.mark.parametrize(
    ("sent", "error", "log_start"),
    [
        (b"", ErrorCode.INVALID_RECORD, -1),
        (batch(b"v")[:-1], ErrorCode.INVALID_RECORD, -1),
        (batch(b"v") * 2, ErrorCode.INVALID_RECORD, -1),
        (batch(b"v")[:16] + b"\1" + batch(b"v")[17:], ErrorCode.INVALID_RECORD, -1),
        (struct.pack(">q", 3) + batch(b"v")[8:], ErrorCode.INVALID_RECORD, START),
        (batch(b"v")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE, -1),
        (batch(b"v" * 2_000_000), ErrorCode.MESSAGE_TOO_LARGE, -1),
        (idempotent(5), ErrorCode.NONE, START),
    ],
)
def test_a_refused_batch_is_told_where_the_log_starts_as_by_kafka(
    broker: TopicsFixture, sent: bytes, error: ErrorCode, log_start: int
) -> None:
    answer = broker.produce((0, sent))
    assert offsets(answer) == (error, 2 if error == ErrorCode.NONE else -1, -1, log_start)


def test_a_sequence_out_of_order_is_told_where_the_log_starts(broker: TopicsFixture) -> None:
    broker.produce((0, idempotent(0)))
    answer = broker.produce((0, idempotent(7)))
    assert offsets(answer) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, -1, START)


def test_a_batch_larger_than_a_segment_is_not_told_where_the_log_starts(broker: TopicsFixture) -> None:
    small = topic_config(BrokerConfig(), {"segment.bytes": "1024"})
    partition = broker.partition("t")
    partition.log.config = log_config(small)
    answer = broker.produce((0, batch(b"v" * 2000)))
    assert offsets(answer) == (ErrorCode.RECORD_LIST_TOO_LARGE, -1, -1, -1)
