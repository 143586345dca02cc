"""The handler of CreatePartitions."""

from __future__ import annotations

import pytest

from kcompat.api import create_partitions
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture

ToGrow = CreatePartitionsRequest.CreatePartitionsTopic
TIMEOUT_MS = 5000


@pytest.mark.parametrize("version", range(4))
async def test_grow(version: int) -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a", "b")
        topics = [ToGrow(name=name, count=5, assignments=None) for name in ("a", "b", "b", "none")]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
        response = await fixture.ask(create_partitions, version, request)
        assert [(row.name, row.error_code, row.error_message) for row in response.results] == [
            ("a", 0, None),
            ("b", 42, "Duplicate topic name."),
            ("none", 3, None),
        ]
        assert {name: len(topic.partitions) for name, topic in fixture.cluster.image.topics.items()} == {
            "a": 5,
            "b": 2,
        }


async def test_grow_with_an_empty_assignment_is_not_grow_without_one() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a")
        request = CreatePartitionsRequest(
            topics=[ToGrow(name="a", count=3, assignments=[])], timeout_ms=TIMEOUT_MS
        )
        response = await fixture.ask(create_partitions, 3, request)
        assert response.results[0].error_code == 39


async def test_grow_without_time_or_to_validate() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a")
        topics = [ToGrow(name="a", count=3, assignments=None)]
        late = await fixture.ask(create_partitions, 3, CreatePartitionsRequest(topics=topics, timeout_ms=0))
        request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=True)
        checked = await fixture.ask(create_partitions, 3, request)
        assert (late.results[0].error_code, checked.results[0].error_code) == (7, 0)
        assert len(fixture.cluster.image.topics["a"].partitions) == 2


async def test_needs_to_alter_each_topic() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a", "b")
        fixture.authorizer = Denying((Operation.ALTER, Resource.topic("b")))
        topics = [ToGrow(name=name, count=3, assignments=None) for name in ("a", "b")]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
        answer = await fixture.ask(create_partitions, 3, request)
        assert [(row.name, row.error_code, row.error_message) for row in answer.results] == [
            ("a", 0, None),
            ("b", 29, None),
        ]
