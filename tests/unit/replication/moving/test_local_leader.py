"""Answers of a log's own broker to the copier of the log."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.replication.moving.local_leader import LocalLeader
from kcompat.replication.throttle import ReplicationThrottle
from support.replica_moves import ME, MovesFixture, append

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.protocol.message import Message

Row = FetchRequest.FetchPartition


class Asking:
    """A log that had records of the epochs 0, 1 and 1, of which the first is deleted, and who shows it."""

    def __init__(self, home: Path) -> None:
        self.fixture = MovesFixture(home)
        self.partition = self.fixture.create()
        append(self.partition, b"0")
        self.fixture.replicas.take_role("t", 0, Role(ME, 1, (ME,), (ME,)))
        append(self.partition, b"1", b"2")
        self.partition.delete_records_before(1)
        self.throttle = ReplicationThrottle()
        self.leader = LocalLeader(self.fixture.replicas, self.fixture.clock, self.throttle)
        self.answers: list[Any] = []

    def ask(self, request: Message) -> None:
        """Note what is answered."""
        promise = self.leader.ask(ApiKey(request.api_key), lambda _: request, 0)
        promise.then(self.answers.append, self.answers.append)

    def fetch(self, *rows: Row, topic: str = "t") -> Any:
        """The rows of the answer."""
        self.ask(FetchRequest(topics=[FetchRequest.FetchTopic(topic, bytes(16), list(rows))]))
        self.fixture.clock.advance(0)
        (answer,) = self.answers.pop().responses
        assert answer.topic == topic
        return answer.partitions


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    asking = Asking(tmp_path)
    yield asking
    asking.fixture.stop()


def row(offset: int, *, epoch: int = 1, last: int = -1, index: int = 0) -> Row:
    return Row(index, epoch, offset, last, partition_max_bytes=1000)


def test_records_up_to_the_end_of_the_log_whoever_leads(asking: Asking) -> None:
    for leader in (ME, 2):
        asking.fixture.replicas.take_role("t", 0, Role(leader, leader + 1, (leader,), (ME, 2)))
        (answer,) = asking.fetch(row(2, epoch=leader + 1, last=1))
        assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, 1, 3)
        assert len(answer.records)
        (answer,) = asking.fetch(row(3, epoch=leader + 1))
        assert (answer.error_code, len(answer.records)) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (row(1, epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (row(1, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (row(0), ErrorCode.OFFSET_OUT_OF_RANGE),
        (row(4), ErrorCode.OFFSET_OUT_OF_RANGE),
        (row(1, index=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_cannot_be_read_has_a_reason(asking: Asking, asked: Row, error: ErrorCode) -> None:
    (answer,) = asking.fetch(asked)
    assert answer.error_code == error


def test_a_disk_that_has_failed(asking: Asking) -> None:
    asking.partition.log.context.fault(OSError(errno.EIO, "Input/output error"))
    (answer,) = asking.fetch(row(1))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_where_an_epoch_ended(asking: Asking) -> None:
    (answer,) = asking.fetch(row(3, last=0))
    assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == (0, 1)


def test_one_partition_at_a_time(asking: Asking) -> None:
    append(asking.fixture.create(index=1), b"one")
    rows = [row(0, epoch=0, index=1), row(1)]
    assert [answer.partition_index for answer in asking.fetch(*rows)] == [0], "the first by name"
    assert [answer.partition_index for answer in asking.fetch(rows[0])] == [1]
    assert [answer.partition_index for answer in asking.fetch(*rows)] == [1], "it was begun"


def test_both_ends_of_a_log(asking: Asking) -> None:
    asked = [
        ListOffsetsRequest.ListOffsetsPartition(index, epoch, timestamp)
        for index, epoch, timestamp in ((0, 1, -1), (0, 1, -2), (0, 0, -1), (7, 1, -1))
    ]
    asking.ask(ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic("t", asked)]))
    asking.fixture.clock.advance(0)
    (topic,) = asking.answers.pop().topics
    answers = [(answer.error_code, answer.offset) for answer in topic.partitions]
    assert answers[:2] == [(0, 3), (0, 1)]
    assert [error for error, _ in answers[2:]] == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_fetch_waits_while_too_much_was_copied_and_nothing_else_does(asking: Asking) -> None:
    asking.throttle.configure(10, 2, 1000)
    asking.throttle.record(11, asking.fixture.clock.now_ms())
    asking.ask(FetchRequest())
    asking.ask(OffsetForLeaderEpochRequest())
    asking.fixture.clock.advance(500)
    assert len(asking.answers) == 1
    asking.fixture.clock.advance(2000)
    assert len(asking.answers) == 2


def test_nothing_is_answered_any_more_after_the_end(asking: Asking) -> None:
    asking.ask(FetchRequest())
    asking.leader.disconnect()
    asking.fixture.clock.advance(1000)
    assert asking.answers == []
