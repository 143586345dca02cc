"""OffsetDelete over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers, commit, errors


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


def test_deleting_offsets(broker: GroupHandlers) -> None:
    broker.ask(commit({("t1", 0): 5, ("t1", 1): 6}), 7)
    topic, row = (
        OffsetDeleteRequest.OffsetDeleteRequestTopic,
        OffsetDeleteRequest.OffsetDeleteRequestPartition,
    )
    asked = OffsetDeleteRequest(
        group_id="g", topics=[topic(name="t1", partitions=[row(partition_index=0), row(partition_index=9)])]
    )
    answer = broker.ask(asked, 0)
    assert answer.error_code == 0
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(9, 3), (0, 0)]
    assert broker.fixture.fetch(group_id="g") == {("t1", 1): 6}
    asked.group_id = "absent"
    refused = broker.ask(asked, 0)
    assert (refused.error_code, refused.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_needs_to_delete_the_group_and_to_read_the_topics(broker: GroupHandlers) -> None:
    broker.ask(commit({("t1", 0): 5, ("t2", 0): 6}), 7)
    row, partition = (
        OffsetDeleteRequest.OffsetDeleteRequestTopic,
        OffsetDeleteRequest.OffsetDeleteRequestPartition,
    )
    topics = [row(name=name, partitions=[partition(partition_index=0)]) for name in ("t1", "t2", "none")]
    asked = OffsetDeleteRequest(group_id="g", topics=topics)
    broker.authorizer = Denying((Operation.READ, Resource.topic("t2")))
    assert errors(broker.ask(asked, 0)) == {("t2", 0): 29, ("none", 0): 3, ("t1", 0): 0}
    broker.authorizer = Denying((Operation.DELETE, Resource.group("g")))
    answer = broker.ask(asked, 0)
    assert (answer.error_code, answer.topics) == (30, [])
