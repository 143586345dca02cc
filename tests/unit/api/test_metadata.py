"""The handler of Metadata."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kcompat.api import (
    metadata,
)
from kcompat.api.first_metadata_update import LONGEST_WAIT_MS
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import LOCAL_ADDRESS, Denying
from support.cluster_of_one import ClusterFixture
from support.cluster_questions import (
    ALL_OF_CLUSTER,
    ALL_OF_TOPIC,
    NOT_ASKED,
    Row,
    ask_metadata,
    with_a_dead_broker,
    with_a_world_of_three,
)


@pytest.mark.parametrize("version", range(14))
async def test_metadata_creates_and_describes_in_every_version(version: int) -> None:
    async with ClusterFixture(num_partitions="2") as fixture:
        response = await ask_metadata(fixture, version, "t", "t")
        assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [
            (1, *LOCAL_ADDRESS)
        ]
        (topic,) = response.topics
        assert (topic.error_code, topic.name, topic.is_internal) == (0, "t", False)
        assert [(part.error_code, part.partition_index, part.leader_id) for part in topic.partitions] == [
            (0, 0, 1),
            (0, 1, 1),
        ]
        assert all(part.replica_nodes == part.isr_nodes == [1] for part in topic.partitions)
        assert response.controller_id == (1 if version >= 1 else -1)
        assert response.brokers[0].rack == ("r1" if version >= 1 else None)
        assert response.cluster_id == ("the-cluster" if version >= 2 else None)
        assert topic.partitions[0].leader_epoch == (0 if version >= 7 else -1)
        assert topic.topic_id == (fixture.cluster.image.topics["t"].topic_id if version >= 10 else bytes(16))
        assert (response.cluster_authorized_operations, topic.topic_authorized_operations) == (
            NOT_ASKED,
            NOT_ASKED,
        )


async def test_metadata_of_all_topics_or_none() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 4, "a", "b")
        assert [topic.name for topic in (await ask_metadata(fixture, 0)).topics] == ["a", "b"]
        assert (await ask_metadata(fixture, 1)).topics == []
        everything = await fixture.ask(metadata, 12, MetadataRequest(topics=None))
        assert [topic.name for topic in everything.topics] == ["a", "b"]


@pytest.mark.parametrize("setting", ["client", "broker"])
async def test_metadata_creates_only_where_both_allow_it(setting: str) -> None:
    async with ClusterFixture(
        auto_create_topics_enable="false" if setting == "broker" else "true"
    ) as fixture:
        allowed = setting != "client"
        response = await ask_metadata(
            fixture,
            12,
            "t",
            "a b",
            "",
            allow_auto_topic_creation=allowed,
            include_topic_authorized_operations=True,
        )
        assert [(topic.name, topic.error_code) for topic in response.topics] == [
            ("t", 3),
            ("a b", 17),
            ("", 17),
        ]
        assert [topic.topic_authorized_operations for topic in response.topics] == [ALL_OF_TOPIC] * 3
        assert not fixture.cluster.image.topics


async def test_before_the_controller_has_said_which_topics_there_are_none_is_created_nor_denied() -> None:
    async with ClusterFixture() as fixture:
        known = fixture.cluster.image
        fixture.forget_controller()
        response = await fixture.waited_in_vain(ask_metadata(fixture, 12, "t", "a b"))
        assert [(topic.name, topic.error_code) for topic in response.topics] == [("t", 5), ("a b", 17)]
        assert ([broker.node_id for broker in response.brokers], response.controller_id) == ([1], -1)
        fixture.cluster.update(known)
        assert not await fixture.session.children("/brokers/topics")
        assert [topic.error_code for topic in (await ask_metadata(fixture, 12, "t")).topics] == [0]


async def test_what_is_asked_before_the_controller_has_spoken_is_answered_when_it_has() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 12, "t")
        known = fixture.cluster.image
        fixture.forget_controller()
        asked = asyncio.create_task(ask_metadata(fixture, 12, "t", "new"))
        await asyncio.sleep(0)
        fixture.clock.advance(LONGEST_WAIT_MS - 1)
        await asyncio.sleep(0)
        assert not asked.done()
        fixture.cluster.update(known)
        response = await asked
        assert [(topic.name, topic.error_code) for topic in response.topics] == [("t", 0), ("new", 0)]
        assert response.controller_id == 1


async def test_metadata_says_why_a_topic_was_not_created() -> None:
    async with ClusterFixture(default_replication_factor="2") as fixture:
        response = await ask_metadata(fixture, 12, "t", "a b", "__consumer_offsets")
        assert {topic.name: topic.error_code for topic in response.topics} == {
            "t": 38,
            "a b": 17,
            "__consumer_offsets": 0,
        }
        assert [topic.is_internal for topic in response.topics if topic.error_code == 0] == [True]


async def test_metadata_by_id() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 12, "a", "b")
        known, unknown = fixture.cluster.image.topics["a"].topic_id, b"\x05" * 16
        rows = [
            Row(name="b", topic_id=known),
            Row(name=None, topic_id=unknown),
            Row(name="b"),
            Row(name=None, topic_id=known),
        ]
        request = MetadataRequest(topics=rows, include_topic_authorized_operations=True)
        response = await fixture.ask(metadata, 12, request)
        assert [(topic.name, topic.topic_id, topic.error_code) for topic in response.topics] == [
            ("a", known, 0),
            (None, unknown, 100),
        ]
        assert [topic.topic_authorized_operations for topic in response.topics] == [ALL_OF_TOPIC, NOT_ASKED]


@pytest.mark.parametrize(
    ("version", "row", "name"),
    [(12, Row(name=None), None), (11, Row(name=None), ""), (11, Row(name="a", topic_id=b"\x05" * 16), "a")],
)
async def test_metadata_without_name_and_id_or_by_id_too_early(
    version: int, row: Any, name: str | None
) -> None:
    async with ClusterFixture() as fixture:
        response = await fixture.ask(metadata, version, MetadataRequest(topics=[Row(name="t"), row]))
        assert [(topic.error_code, topic.name) for topic in response.topics] == [(42, "t"), (42, name)]
        assert response.brokers == []
        assert not fixture.cluster.image.topics


@pytest.mark.parametrize("version", [8, 10, 11])
async def test_metadata_gives_real_bit_fields_when_asked(version: int) -> None:
    async with ClusterFixture() as fixture:
        response = await ask_metadata(
            fixture,
            version,
            "t",
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=version <= 10,
        )
        assert response.topics[0].topic_authorized_operations == ALL_OF_TOPIC
        assert response.cluster_authorized_operations == (ALL_OF_CLUSTER if version <= 10 else NOT_ASKED)


async def test_advertised_listeners_are_told_as_they_are() -> None:
    async with ClusterFixture(advertised_listeners="PLAINTEXT://advertised:9092") as fixture:
        response = await ask_metadata(fixture, 12)
        assert [(broker.host, broker.port) for broker in response.brokers] == [("advertised", 9092)]


@pytest.mark.parametrize(("keeps_metadata", "others"), [(True, [2]), (False, []), (False, [2])])
async def test_one_of_several_tells_the_address_that_the_others_tell(
    keeps_metadata: bool, others: list[int]
) -> None:
    async with ClusterFixture() as fixture:
        fixture.keeps_metadata = keeps_metadata
        for other in others:
            await fixture.register(other)
        response = await ask_metadata(fixture, 12)
        told = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        registered = fixture.cluster.image.brokers
        assert told == {each: registered[each].endpoints["PLAINTEXT"] for each in (1, *others)}
        assert told[1] != LOCAL_ADDRESS


@pytest.mark.parametrize(
    ("version", "errors"), [(0, [9, 5, 5]), (1, [0, 5, 5]), (5, [0, 5, 5]), (6, [0, 72, 5]), (13, [0, 72, 5])]
)
async def test_leaders_that_a_client_cannot_reach(version: int, errors: list[int]) -> None:
    async with ClusterFixture() as fixture:
        with_a_world_of_three(fixture)
        response = await ask_metadata(fixture, version, "t")
        partitions = response.topics[0].partitions
        assert [broker.node_id for broker in response.brokers] == [1]
        assert [part.error_code for part in partitions] == errors
        assert [part.leader_id for part in partitions] == [1, -1, -1]
        replicas = [[1], [1], []] if version == 0 else [[1, 2, 3], [2, 1], [3]]
        assert [part.replica_nodes for part in partitions] == replicas
        assert [part.offline_replicas for part in partitions] == (
            [[2, 3], [2], [3]] if version >= 5 else [[]] * 3
        )


@pytest.mark.parametrize("version", range(14))
async def test_a_broker_whose_process_has_ended_is_listed_and_its_replicas_are_offline(version: int) -> None:
    async with ClusterFixture() as fixture:
        with_a_dead_broker(fixture)
        response = await ask_metadata(fixture, version, "t")
        own = fixture.cluster.image.brokers[1].endpoints["PLAINTEXT"]
        rows = [(each.node_id, each.host, each.port) for each in response.brokers]
        assert rows == [(1, *own), (2, "h2", 9092)]
        assert [each.rack for each in response.brokers] == (["r1", "r2"] if version >= 1 else [None, None])
        (partition,) = response.topics[0].partitions
        assert (partition.leader_id, partition.isr_nodes) == (1, [1])
        assert partition.offline_replicas == ([2] if version >= 5 else [])


async def test_topics_that_may_not_be_described_are_hidden_or_refused() -> None:
    async with ClusterFixture() as fixture:
        await ask_metadata(fixture, 12, "a", "b")
        known = fixture.cluster.image.topics["b"].topic_id
        fixture.authorizer = Denying(*((Operation.DESCRIBE, Resource.topic(name)) for name in ("b", "none")))
        everything = await fixture.ask(metadata, 12, MetadataRequest(topics=None))
        assert [topic.name for topic in everything.topics] == ["a"]
        named = await ask_metadata(fixture, 12, "a", "b", "none", include_topic_authorized_operations=True)
        assert {row.name: row.error_code for row in named.topics} == {"a": 0, "b": 29, "none": 29}
        assert [row.topic_authorized_operations for row in named.topics] == [
            ALL_OF_TOPIC,
            NOT_ASKED,
            NOT_ASKED,
        ]
        assert "none" not in fixture.cluster.image.topics
        by_id = await fixture.ask(metadata, 12, MetadataRequest(topics=[Row(name=None, topic_id=known)]))
        assert [(row.error_code, row.name, row.topic_id) for row in by_id.topics] == [(29, None, known)]


async def test_topics_are_created_for_those_who_may_create_them_by_name_or_all() -> None:
    async with ClusterFixture() as fixture:
        no_topics = (Operation.CREATE, ResourceType.TOPIC)
        fixture.authorizer = Denying((Operation.CREATE, CLUSTER), (Operation.CREATE, Resource.topic("a")))
        answer = await ask_metadata(fixture, 12, "a", "b")
        assert {row.name: row.error_code for row in answer.topics} == {"a": 29, "b": 0}
        fixture.authorizer = Denying(no_topics)
        assert [row.error_code for row in (await ask_metadata(fixture, 12, "c")).topics] == [0]


async def test_who_may_not_describe_the_cluster_may_do_nothing_to_it() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.DESCRIBE, CLUSTER))
        answer = await ask_metadata(fixture, 8, include_cluster_authorized_operations=True)
        assert answer.cluster_authorized_operations == 0
