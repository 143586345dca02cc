"""CreateTopics, DeleteTopics, CreatePartitions."""

from __future__ import annotations

import pytest

from kcompat.api import create_partitions, create_topics, delete_topics
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from support.cluster_world import ClusterWorld

Topic = CreateTopicsRequest.CreatableTopic
Config = CreateTopicsRequest.CreatableTopicConfig
ToDelete = DeleteTopicsRequest.DeleteTopicState
ToGrow = CreatePartitionsRequest.CreatePartitionsTopic

TIMEOUT_MS = 5000


async def create(world: ClusterWorld, *names: str) -> dict[str, bytes]:
    topics = [Topic(name=name, num_partitions=2, replication_factor=1) for name in names]
    response = await world.ask(create_topics, 7, CreateTopicsRequest(topics=topics))
    assert [row.error_code for row in response.topics] == [0] * len(names)
    return {row.name: row.topic_id for row in response.topics}


@pytest.mark.parametrize("version", range(8))
async def test_create_in_every_version(version: int) -> None:
    async with ClusterWorld() as world:
        topic = Topic(
            name="t", num_partitions=2, replication_factor=1, configs=[Config(name="retention.ms", value="7")]
        )
        response = await world.ask(create_topics, version, CreateTopicsRequest(topics=[topic]))
        (row,) = response.topics
        image = world.cluster.image
        assert (row.name, row.error_code) == ("t", 0)
        assert len(image.topics["t"].partitions) == 2
        assert image.configs("topics", "t") == {"retention.ms": "7"}
        if version >= 1:
            assert row.error_message is None
        if version >= 5:
            assert (row.num_partitions, row.replication_factor) == (2, 1)
            configs = {each.name: (each.value, each.config_source) for each in row.configs}
            assert configs["retention.ms"] == ("7", 1)
            assert configs["max.message.bytes"] == ("1048588", 5)
            assert len(configs) == 36
        if version >= 7:
            assert row.topic_id == image.topics["t"].topic_id


async def test_create_tells_of_each_topic_and_of_doubles_once() -> None:
    async with ClusterWorld() as world:
        topics = [
            Topic(name=name, num_partitions=1, replication_factor=1)
            for name in ("d", "ok", "d", "__cluster_metadata")
        ]
        response = await world.ask(create_topics, 7, CreateTopicsRequest(topics=topics))
        assert [(row.name, row.error_code, row.error_message) for row in response.topics] == [
            ("d", 42, "Duplicate topic name."),
            ("ok", 0, None),
            ("__cluster_metadata", 42, "Creation of internal topic __cluster_metadata is prohibited."),
        ]
        assert list(world.cluster.image.topics) == ["ok"]


async def test_create_without_time_does_nothing() -> None:
    async with ClusterWorld() as world:
        topic = Topic(name="t", num_partitions=1, replication_factor=1)
        response = await world.ask(create_topics, 7, CreateTopicsRequest(topics=[topic], timeout_ms=0))
        assert response.topics[0].error_code == 7
        assert not world.cluster.image.topics


async def test_create_to_validate() -> None:
    async with ClusterWorld() as world:
        topics = [
            Topic(name="t", num_partitions=3, replication_factor=-1),
            Topic(name="a b", num_partitions=1),
        ]
        request = CreateTopicsRequest(topics=topics, validate_only=True)
        response = await world.ask(create_topics, 7, request)
        assert [(row.error_code, row.num_partitions) for row in response.topics] == [(0, 3), (17, -1)]
        assert not world.cluster.image.topics


@pytest.mark.parametrize("version", range(6))
async def test_delete_by_name(version: int) -> None:
    async with ClusterWorld() as world:
        await create(world, "a", "b", "c")
        request = DeleteTopicsRequest(topic_names=["a", "none", "b", "b"], timeout_ms=TIMEOUT_MS)
        response = await world.ask(delete_topics, version, request)
        assert {row.name: row.error_code for row in response.responses} == {"a": 0, "none": 3, "b": 42}
        assert len(response.responses) == 3
        assert list(world.cluster.image.topics) == ["b", "c"]
        if version >= 5:
            messages = {row.name: row.error_message for row in response.responses}
            assert (messages["a"], messages["b"]) == (None, "Duplicate topic name.")


async def test_delete_by_id_and_name() -> None:
    async with ClusterWorld() as world:
        ids = await create(world, "a", "b", "c")
        unknown = b"\x03" * 16
        rows = [
            ToDelete(name="a"),
            ToDelete(topic_id=ids["b"]),
            ToDelete(topic_id=unknown),
            ToDelete(name="none"),
        ]
        request = DeleteTopicsRequest(topics=rows, timeout_ms=TIMEOUT_MS)
        response = await world.ask(delete_topics, 6, request)
        assert [(row.name, row.topic_id, row.error_code) for row in response.responses] == [
            ("a", ids["a"], 0),
            ("b", ids["b"], 0),
            (None, unknown, 100),
            ("none", bytes(16), 3),
        ]
        assert list(world.cluster.image.topics) == ["c"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            lambda topic_id: [ToDelete(name="a", topic_id=topic_id)],
            "You may not specify both topic name and topic id.",
        ),
        (lambda _: [ToDelete()], "Neither topic name nor id were specified."),
        (lambda _: [ToDelete(name="a"), ToDelete(name="a")], "Duplicate topic name."),
        (lambda topic_id: [ToDelete(topic_id=topic_id)] * 2, "Duplicate topic id."),
        (
            lambda topic_id: [ToDelete(name="a"), ToDelete(topic_id=topic_id)],
            "The provided topic name maps to an ID that was already supplied.",
        ),
    ],
)
async def test_delete_that_contradicts_itself_deletes_nothing(rows: object, message: str) -> None:
    async with ClusterWorld() as world:
        ids = await create(world, "a")
        assert callable(rows)
        request = DeleteTopicsRequest(topics=rows(ids["a"]), timeout_ms=TIMEOUT_MS)
        response = await world.ask(delete_topics, 6, request)
        (row,) = response.responses
        assert (row.error_code, row.error_message) == (42, message)
        assert list(world.cluster.image.topics) == ["a"]


async def test_delete_without_time_shows_only_what_is_wrong_with_the_request() -> None:
    async with ClusterWorld() as world:
        await create(world, "a")
        rows = [ToDelete(name="a"), ToDelete(name="none"), ToDelete()]
        response = await world.ask(delete_topics, 6, DeleteTopicsRequest(topics=rows, timeout_ms=0))
        assert [row.error_code for row in response.responses] == [7, 7, 42]
        assert list(world.cluster.image.topics) == ["a"]


@pytest.mark.parametrize(("version", "error"), [(2, 42), (3, 73)])
async def test_delete_where_it_is_disabled(version: int, error: int) -> None:
    async with ClusterWorld(delete_topic_enable="false") as world:
        await create(world, "a")
        request = DeleteTopicsRequest(topic_names=["a"], timeout_ms=TIMEOUT_MS)
        response = await world.ask(delete_topics, version, request)
        assert [row.error_code for row in response.responses] == [error]
        assert list(world.cluster.image.topics) == ["a"]


@pytest.mark.parametrize("version", range(4))
async def test_grow(version: int) -> None:
    async with ClusterWorld() as world:
        await create(world, "a", "b")
        topics = [ToGrow(name=name, count=5, assignments=None) for name in ("a", "b", "b", "none")]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
        response = await world.ask(create_partitions, version, request)
        assert [(row.name, row.error_code, row.error_message) for row in response.results] == [
            ("a", 0, None),
            ("b", 42, "Duplicate topic name."),
            ("none", 3, None),
        ]
        assert {name: len(topic.partitions) for name, topic in world.cluster.image.topics.items()} == {
            "a": 5,
            "b": 2,
        }


async def test_grow_with_an_empty_assignment_is_not_grow_without_one() -> None:
    async with ClusterWorld() as world:
        await create(world, "a")
        request = CreatePartitionsRequest(
            topics=[ToGrow(name="a", count=3, assignments=[])], timeout_ms=TIMEOUT_MS
        )
        response = await world.ask(create_partitions, 3, request)
        assert response.results[0].error_code == 39


async def test_grow_without_time_or_to_validate() -> None:
    async with ClusterWorld() as world:
        await create(world, "a")
        topics = [ToGrow(name="a", count=3, assignments=None)]
        late = await world.ask(create_partitions, 3, CreatePartitionsRequest(topics=topics, timeout_ms=0))
        request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=True)
        checked = await world.ask(create_partitions, 3, request)
        assert (late.results[0].error_code, checked.results[0].error_code) == (7, 0)
        assert len(world.cluster.image.topics["a"].partitions) == 2
