"""The handler of DescribeTopicPartitions."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import (
    describe_topic_partitions,
)
from kcompat.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.cluster_questions import (
    ALL_OF_TOPIC,
    ask_metadata,
    with_a_world_of_three,
)

Topic = DescribeTopicPartitionsRequest.TopicRequest


Cursor = DescribeTopicPartitionsRequest.Cursor


async def describe(
    fixture: ClusterFixture, *names: str, limit: int = 2000, cursor: Any = None
) -> tuple[list[Any], Any]:
    request = DescribeTopicPartitionsRequest(
        topics=[Topic(name=name) for name in names], response_partition_limit=limit, cursor=cursor
    )
    response = await fixture.ask(describe_topic_partitions, 0, request)
    rows = [
        (row.name, row.error_code, [part.partition_index for part in row.partitions])
        for row in response.topics
    ]
    next_cursor = response.next_cursor
    return rows, None if next_cursor is None else (next_cursor.topic_name, next_cursor.partition_index)


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "rows", "following"),
    [
        (["b", "a"], 2000, None, [("a", 0, [0, 1]), ("b", 0, [0, 1])], None),
        ([], 2000, None, [("a", 0, [0, 1]), ("b", 0, [0, 1])], None),
        (["a", "a"], 2000, None, [("a", 0, [0, 1])], None),
        (["a", "b"], 2, None, [("a", 0, [0, 1])], ("b", 0)),
        (["a", "b"], 3, None, [("a", 0, [0, 1]), ("b", 0, [0])], ("b", 1)),
        (["a", "b"], 1, None, [("a", 0, [0])], ("a", 1)),
        (["a"], 0, None, [("a", 0, [0])], ("a", 1)),
        (["a"], -1, None, [("a", 0, [0])], ("a", 1)),
        (["a", "b"], 2000, ("a", 1), [("a", 0, [1]), ("b", 0, [0, 1])], None),
        (["a", "b"], 2000, ("a", 9), [("a", 0, []), ("b", 0, [0, 1])], None),
        (["a", "b"], 2000, ("b", 0), [("b", 0, [0, 1])], None),
        ([], 2, ("aa", 1), [("b", 0, [0, 1])], None),
        ([], 2, ("a", 1), [("a", 0, [1]), ("b", 0, [0])], ("b", 1)),
        (["none", "b", "a b"], 2000, None, [("a b", 17, []), ("b", 0, [0, 1]), ("none", 3, [])], None),
        (["none"], 2000, ("none", 1), [("none", 3, [])], None),
        (["a", "b"], 2000, ("c", 0), [("a", 42, []), ("b", 42, [])], None),
        (["a"], 2000, ("a", -1), [("a", 42, [])], None),
    ],
)
async def test_describe_topic_partitions(
    names: list[str], limit: int, cursor: tuple[str, int] | None, rows: list[Any], following: Any
) -> None:
    async with ClusterFixture(num_partitions="2") as fixture:
        await ask_metadata(fixture, 12, "b", "a")
        asked = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
        assert await describe(fixture, *names, limit=limit, cursor=asked) == (rows, following)


async def test_before_the_controller_has_said_which_topics_there_are_none_is_denied() -> None:
    async with ClusterFixture() as fixture:
        fixture.forget_controller()
        answer = await fixture.waited_in_vain(describe(fixture, "a", "a b"))
        assert answer == ([("a", 5, []), ("a b", 17, [])], None)


async def test_describe_topic_partitions_never_gives_more_than_the_broker_allows() -> None:
    async with ClusterFixture(num_partitions="3", max_request_partition_size_limit="2") as fixture:
        await ask_metadata(fixture, 12, "a")
        assert await describe(fixture, "a") == ([("a", 0, [0, 1])], ("a", 2))


async def test_describe_topic_partitions_tells_the_state() -> None:
    async with ClusterFixture() as fixture:
        with_a_world_of_three(fixture)
        request = DescribeTopicPartitionsRequest(topics=[Topic(name="t")])
        response = await fixture.ask(describe_topic_partitions, 0, request)
        (topic,) = response.topics
        assert (topic.topic_id, topic.topic_authorized_operations) == (b"t" * 16, ALL_OF_TOPIC)
        assert [part.error_code for part in topic.partitions] == [0, 72, 5]
        assert [part.leader_epoch for part in topic.partitions] == [5, 6, 7]
        first = topic.partitions[0]
        assert (first.replica_nodes, first.isr_nodes, first.offline_replicas) == ([1, 2, 3], [1, 2], [2, 3])
        assert (first.eligible_leader_replicas, first.last_known_elr) == ([], [])


async def test_topics_that_may_not_be_described_come_last_or_not_at_all() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 12, "a", "b", "c")
        fixture.authorizer = Denying(*((Operation.DESCRIBE, Resource.topic(name)) for name in ("a", "none")))
        assert (await describe(fixture))[0] == [("b", 0, [0]), ("c", 0, [0])]
        rows, following = await describe(fixture, "a", "b", "c", "none", limit=1)
        assert (rows, following) == ([("b", 0, [0]), ("a", 29, []), ("none", 29, [])], ("c", 0))


async def test_topics_beyond_the_limit_are_not_told_even_if_there_are_none() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 12, "a")
        assert await describe(fixture, "a", "none", limit=1) == ([("a", 0, [0])], ("none", 0))
