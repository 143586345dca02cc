"""The handler of CreateTopics."""

from __future__ import annotations

import pytest

from kcompat.api import create_topics
from kcompat.cluster.znodes import config_path, decode_config, encode_config
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.controllers import answer

Topic = CreateTopicsRequest.CreatableTopic


Config = CreateTopicsRequest.CreatableTopicConfig


@pytest.mark.parametrize("version", range(8))
async def test_create_in_every_version(version: int) -> None:
    async with ClusterFixture() as fixture:
        topic = Topic(
            name="t", num_partitions=2, replication_factor=1, configs=[Config(name="retention.ms", value="7")]
        )
        response = await fixture.ask(create_topics, version, CreateTopicsRequest(topics=[topic]))
        (row,) = response.topics
        image = fixture.cluster.image
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
    async with ClusterFixture() as fixture:
        topics = [
            Topic(name=name, num_partitions=1, replication_factor=1)
            for name in ("d", "ok", "d", "__cluster_metadata")
        ]
        response = await fixture.ask(create_topics, 7, CreateTopicsRequest(topics=topics))
        assert [(row.name, row.error_code, row.error_message) for row in response.topics] == [
            ("d", 42, "Duplicate topic name."),
            ("ok", 0, None),
            ("__cluster_metadata", 42, "Creation of internal topic __cluster_metadata is prohibited."),
        ]
        assert list(fixture.cluster.image.topics) == ["ok"]


async def test_create_without_time_does_nothing() -> None:
    async with ClusterFixture() as fixture:
        topic = Topic(name="t", num_partitions=1, replication_factor=1)
        response = await fixture.ask(create_topics, 7, CreateTopicsRequest(topics=[topic], timeout_ms=0))
        assert response.topics[0].error_code == 7
        assert not fixture.cluster.image.topics


async def test_create_to_validate() -> None:
    async with ClusterFixture() as fixture:
        topics = [
            Topic(name="t", num_partitions=3, replication_factor=-1),
            Topic(name="a b", num_partitions=1),
        ]
        request = CreateTopicsRequest(topics=topics, validate_only=True)
        response = await fixture.ask(create_topics, 7, request)
        assert [(row.error_code, row.num_partitions) for row in response.topics] == [(0, 3), (17, -1)]
        assert not fixture.cluster.image.topics


async def test_needs_to_create_on_the_cluster_or_on_the_topic() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.CREATE, CLUSTER), (Operation.CREATE, Resource.topic("b")))
        topics = [Topic(name=name, num_partitions=1, replication_factor=1) for name in ("a", "b")]
        answer = await fixture.ask(create_topics, 7, CreateTopicsRequest(topics=topics))
        assert {row.name: row.error_code for row in answer.topics} == {"a": 0, "b": 29}
        fixture.authorizer = Denying((Operation.CREATE, ResourceType.TOPIC))
        answer = await fixture.ask(create_topics, 7, CreateTopicsRequest(topics=topics[1:]))
        assert [row.error_code for row in answer.topics] == [0]


async def test_who_may_not_describe_configs_is_told_none() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.DESCRIBE_CONFIGS, Resource.topic("a")))
        topics = [Topic(name="a", num_partitions=1, replication_factor=1)]
        (row,) = (await fixture.ask(create_topics, 7, CreateTopicsRequest(topics=topics))).topics
        assert (row.error_code, row.topic_config_error_code) == (0, 29)
        assert (row.configs, row.num_partitions, row.replication_factor) == ([], -1, -1)


async def test_configs_that_were_left_behind_are_replaced() -> None:
    path = config_path("topics", "t")
    async with ClusterFixture() as fixture:
        await fixture.session.create(path, encode_config({"retention.ms": "1"}))
        spec = TopicSpec("t", 1, 1, configs=[("flush.ms", "5")])
        for _ in range(2):
            (made,) = await answer(fixture.decisions.create_topics([spec]))
            assert (made.error, made.message) == (ErrorCode.NONE, None)
            stored, _ = await fixture.session.get(path)
            assert decode_config(stored) == fixture.cluster.image.configs("topics", "t") == {"flush.ms": "5"}
            await answer(fixture.decisions.delete_topics(["t"]))
            assert await fixture.session.exists(path) is None
