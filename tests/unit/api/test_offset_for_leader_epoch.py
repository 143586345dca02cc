"""OffsetForLeaderEpoch over real logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import offset_for_leader_epoch
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying

if TYPE_CHECKING:
    from support.topics_on_disk import TopicsFixture


def rows(fixture: TopicsFixture, version: int, *names: str, **fields: int) -> list[tuple[int, int, int]]:
    """Error, epoch and end offset of epoch 0 in the first partition of each topic."""
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0, **fields)
    topics = [
        OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[asked]) for name in names
    ]
    request = OffsetForLeaderEpochRequest(topics=topics)
    answer: Any = fixture.ask(offset_for_leader_epoch, version, request)
    return [
        (row.error_code, row.leader_epoch, row.end_offset)
        for topic in answer.topics
        for row in topic.partitions
    ]


@pytest.mark.parametrize("version", range(5))
def test_where_an_epoch_ended(fixture: TopicsFixture, version: int) -> None:
    epoch = 0 if version >= 1 else -1
    assert rows(fixture, version, "t", "none") == [(0, epoch, 1), (3, -1, -1)]


def test_the_current_epoch_of_the_client_is_checked(fixture: TopicsFixture) -> None:
    assert rows(fixture, 3, "t", current_leader_epoch=4) == [(75, -1, -1)]


def test_needs_to_describe_the_topic_or_to_be_a_broker(fixture: TopicsFixture) -> None:
    hidden = [(Operation.DESCRIBE, Resource.topic(name)) for name in ("t", "none")]
    fixture.services.server.authorizer = Denying(*hidden)
    assert [row[0] for row in rows(fixture, 3, "t", "none", "u")] == [0, 3, 0]
    fixture.services.server.authorizer = Denying(*hidden, (Operation.CLUSTER_ACTION, CLUSTER))
    assert [row[0] for row in rows(fixture, 3, "t", "none", "u")] == [29, 29, 0]
