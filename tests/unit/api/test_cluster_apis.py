"""Metadata, DescribeCluster, DescribeTopicPartitions, FindCoordinator, InitProducerId."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.api import (
    describe_cluster,
    describe_topic_partitions,
    find_coordinator,
    init_producer_id,
    metadata,
)
from kcompat.api.cluster_view import offline_replicas
from kcompat.cluster.image import BrokerInfo, PartitionInfo, TopicImage
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_cluster import DescribeClusterRequest
from kcompat.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.asking import LOCAL_ADDRESS
from support.cluster_world import ClusterWorld

Row = MetadataRequest.MetadataRequestTopic
Topic = DescribeTopicPartitionsRequest.TopicRequest
Cursor = DescribeTopicPartitionsRequest.Cursor

ALL_OF_TOPIC = 3576
ALL_OF_CLUSTER = 8096
NOT_ASKED = -2147483648


async def ask_metadata(world: ClusterWorld, version: int, *names: str, **fields: Any) -> Any:
    request = MetadataRequest(topics=[Row(name=name) for name in names], **fields)
    return await world.ask(metadata, version, request)


# -- Metadata


@pytest.mark.parametrize("version", range(14))
async def test_metadata_creates_and_describes_in_every_version(version: int) -> None:
    async with ClusterWorld(num_partitions="2") as world:
        response = await ask_metadata(world, version, "t", "t")
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
        assert topic.topic_id == (world.cluster.image.topics["t"].topic_id if version >= 10 else bytes(16))
        assert (response.cluster_authorized_operations, topic.topic_authorized_operations) == (
            NOT_ASKED,
            NOT_ASKED,
        )


async def test_metadata_of_all_topics_or_none() -> None:
    async with ClusterWorld() as world:
        await ask_metadata(world, 4, "a", "b")
        assert [topic.name for topic in (await ask_metadata(world, 0)).topics] == ["a", "b"]
        assert (await ask_metadata(world, 1)).topics == []
        everything = await world.ask(metadata, 12, MetadataRequest(topics=None))
        assert [topic.name for topic in everything.topics] == ["a", "b"]


@pytest.mark.parametrize("setting", ["client", "broker"])
async def test_metadata_creates_only_where_both_allow_it(setting: str) -> None:
    async with ClusterWorld(auto_create_topics_enable="false" if setting == "broker" else "true") as world:
        allowed = setting != "client"
        response = await ask_metadata(
            world,
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
        assert not world.cluster.image.topics


async def test_metadata_says_why_a_topic_was_not_created() -> None:
    async with ClusterWorld(default_replication_factor="2") as world:
        response = await ask_metadata(world, 12, "t", "a b", "__consumer_offsets")
        assert {topic.name: topic.error_code for topic in response.topics} == {
            "t": 38,
            "a b": 17,
            "__consumer_offsets": 0,
        }
        assert [topic.is_internal for topic in response.topics if topic.error_code == 0] == [True]


async def test_metadata_by_id() -> None:
    async with ClusterWorld() as world:
        await ask_metadata(world, 12, "a", "b")
        known, unknown = world.cluster.image.topics["a"].topic_id, b"\x05" * 16
        rows = [
            Row(name="b", topic_id=known),
            Row(name=None, topic_id=unknown),
            Row(name="b"),
            Row(name=None, topic_id=known),
        ]
        request = MetadataRequest(topics=rows, include_topic_authorized_operations=True)
        response = await world.ask(metadata, 12, request)
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
    async with ClusterWorld() as world:
        response = await world.ask(metadata, version, MetadataRequest(topics=[Row(name="t"), row]))
        assert [(topic.error_code, topic.name) for topic in response.topics] == [(42, "t"), (42, name)]
        assert response.brokers == []
        assert not world.cluster.image.topics


@pytest.mark.parametrize("version", [8, 10, 11])
async def test_metadata_gives_real_bit_fields_when_asked(version: int) -> None:
    async with ClusterWorld() as world:
        response = await ask_metadata(
            world,
            version,
            "t",
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=version <= 10,
        )
        assert response.topics[0].topic_authorized_operations == ALL_OF_TOPIC
        assert response.cluster_authorized_operations == (ALL_OF_CLUSTER if version <= 10 else NOT_ASKED)


async def test_advertised_listeners_are_told_as_they_are() -> None:
    async with ClusterWorld(advertised_listeners="PLAINTEXT://advertised:9092") as world:
        response = await ask_metadata(world, 12)
        assert [(broker.host, broker.port) for broker in response.brokers] == [("advertised", 9092)]


def test_replicas_on_a_failed_disk_are_offline() -> None:
    """Those in sync would lead if they could; of the others nobody knows."""
    assert offline_replicas(PartitionInfo(-1, 7, (1,), (1, 2, 3)), {1, 2}) == [1, 3]
    assert offline_replicas(PartitionInfo(1, 7, (1,), (1, 2, 3)), {1, 2}) == [3]


def with_a_world_of_three(world: ClusterWorld) -> None:
    """Broker 2 has another listener than the client's, broker 3 is down."""
    partitions = (
        PartitionInfo(1, 5, (1, 2), (1, 2, 3)),
        PartitionInfo(2, 6, (2,), (2, 1)),
        PartitionInfo(-1, 7, (3,), (3,)),
    )
    brokers = {**world.cluster.image.brokers, 2: BrokerInfo(2, None, {"INTERNAL": ("h2", 1)})}
    image = world.cluster.image.with_topics([TopicImage("t", b"t" * 16, partitions)])
    world.cluster.update(replace(image, brokers=brokers))


@pytest.mark.parametrize(
    ("version", "errors"), [(0, [9, 5, 5]), (1, [0, 5, 5]), (5, [0, 5, 5]), (6, [0, 72, 5]), (13, [0, 72, 5])]
)
async def test_leaders_that_a_client_cannot_reach(version: int, errors: list[int]) -> None:
    async with ClusterWorld() as world:
        with_a_world_of_three(world)
        response = await ask_metadata(world, version, "t")
        partitions = response.topics[0].partitions
        assert [broker.node_id for broker in response.brokers] == [1]
        assert [part.error_code for part in partitions] == errors
        assert [part.leader_id for part in partitions] == [1, -1, -1]
        replicas = [[1], [1], []] if version == 0 else [[1, 2, 3], [2, 1], [3]]
        assert [part.replica_nodes for part in partitions] == replicas
        assert [part.offline_replicas for part in partitions] == (
            [[2, 3], [2], [3]] if version >= 5 else [[]] * 3
        )


# -- DescribeCluster


@pytest.mark.parametrize("version", range(3))
async def test_describe_cluster(version: int) -> None:
    async with ClusterWorld() as world:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        response = await world.ask(describe_cluster, version, request)
        assert (response.error_code, response.cluster_id, response.controller_id) == (0, "the-cluster", 1)
        (broker,) = response.brokers
        assert (broker.broker_id, broker.host, broker.port, broker.rack) == (1, *LOCAL_ADDRESS, "r1")
        assert not broker.is_fenced
        assert response.cluster_authorized_operations == ALL_OF_CLUSTER


@pytest.mark.parametrize(
    ("endpoint_type", "error", "message"),
    [
        (
            2,
            114,
            "The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        ),
        (3, 115, "Unsupported endpoint type 3"),
        (0, 115, "Unsupported endpoint type 0"),
    ],
)
async def test_describe_cluster_of_what_this_is_not(endpoint_type: int, error: int, message: str) -> None:
    async with ClusterWorld() as world:
        response = await world.ask(describe_cluster, 1, DescribeClusterRequest(endpoint_type=endpoint_type))
        assert (response.error_code, response.error_message) == (error, message)
        assert response.brokers == []


# -- DescribeTopicPartitions


async def describe(
    world: ClusterWorld, *names: str, limit: int = 2000, cursor: Any = None
) -> tuple[list[Any], Any]:
    request = DescribeTopicPartitionsRequest(
        topics=[Topic(name=name) for name in names], response_partition_limit=limit, cursor=cursor
    )
    response = await world.ask(describe_topic_partitions, 0, request)
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
    async with ClusterWorld(num_partitions="2") as world:
        await ask_metadata(world, 12, "b", "a")
        asked = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
        assert await describe(world, *names, limit=limit, cursor=asked) == (rows, following)


async def test_describe_topic_partitions_never_gives_more_than_the_broker_allows() -> None:
    async with ClusterWorld(num_partitions="3", max_request_partition_size_limit="2") as world:
        await ask_metadata(world, 12, "a")
        assert await describe(world, "a") == ([("a", 0, [0, 1])], ("a", 2))


async def test_describe_topic_partitions_tells_the_state() -> None:
    async with ClusterWorld() as world:
        with_a_world_of_three(world)
        request = DescribeTopicPartitionsRequest(topics=[Topic(name="t")])
        response = await world.ask(describe_topic_partitions, 0, request)
        (topic,) = response.topics
        assert (topic.topic_id, topic.topic_authorized_operations) == (b"t" * 16, ALL_OF_TOPIC)
        assert [part.error_code for part in topic.partitions] == [0, 72, 5]
        assert [part.leader_epoch for part in topic.partitions] == [5, 6, 7]
        first = topic.partitions[0]
        assert (first.replica_nodes, first.isr_nodes, first.offline_replicas) == ([1, 2, 3], [1, 2], [2, 3])
        assert (first.eligible_leader_replicas, first.last_known_elr) == ([], [])


# -- FindCoordinator


@pytest.mark.parametrize("version", range(4))
async def test_find_coordinator_creates_the_offsets_topic(version: int) -> None:
    async with ClusterWorld() as world:
        response = await world.ask(find_coordinator, version, FindCoordinatorRequest(key="g"))
        assert (response.error_code, response.node_id) == (0, 1)
        assert (response.host, response.port) == LOCAL_ADDRESS
        assert response.error_message == ("NONE" if version >= 1 else "")
        assert len(world.cluster.image.topics["__consumer_offsets"].partitions) == 50


@pytest.mark.parametrize("version", range(4, 7))
async def test_find_coordinator_of_many(version: int) -> None:
    async with ClusterWorld() as world:
        request = FindCoordinatorRequest(coordinator_keys=["g", "", "g"])
        response = await world.ask(find_coordinator, version, request)
        rows = [(row.key, row.error_code, row.node_id, row.host, row.port) for row in response.coordinators]
        assert rows == [(key, 0, 1, *LOCAL_ADDRESS) for key in ("g", "", "g")]


@pytest.mark.parametrize(
    ("version", "key_type", "error"), [(1, 1, 35), (1, 2, 42), (3, 9, 42), (5, 1, 35), (5, 2, 42), (6, 2, 15)]
)
async def test_find_coordinator_of_other_kinds(version: int, key_type: int, error: int) -> None:
    async with ClusterWorld() as world:
        if version >= 4:
            request = FindCoordinatorRequest(coordinator_keys=["g"], key_type=key_type)
        else:
            request = FindCoordinatorRequest(key="g", key_type=key_type)
        response = await world.ask(find_coordinator, version, request)
        row = response.coordinators[0] if version >= 4 else response
        assert (row.error_code, row.node_id, row.host, row.port) == (error, -1, "", -1)
        assert not world.cluster.image.topics


@pytest.mark.parametrize("version", range(1, 7))
async def test_transactional_producers_are_told_why_they_cannot_start(version: int) -> None:
    """An error to be retried would hold a Streams application with exactly_once_v2 for many minutes."""
    async with ClusterWorld() as world:
        keys: dict[str, Any] = {"coordinator_keys": ["t"]} if version >= 4 else {"key": "t"}
        request = FindCoordinatorRequest(**keys, key_type=1)
        response = await world.ask(find_coordinator, version, request)
        row = response.coordinators[0] if version >= 4 else response
        assert row.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert row.error_message == "Transactions are not served yet."


async def test_find_coordinator_follows_the_group_to_its_partition() -> None:
    async with ClusterWorld() as world:
        partitions = (PartitionInfo(1, 0, (1,), (1,)), PartitionInfo(-1, 1, (1,), (1,)))
        offsets = TopicImage("__consumer_offsets", b"o" * 16, partitions)
        world.cluster.update(world.cluster.image.with_topics([offsets]))
        # Java's "a".hashCode() is 97, "b" 98: partitions 1 and 0 of two.
        request = FindCoordinatorRequest(coordinator_keys=["a", "b"])
        response = await world.ask(find_coordinator, 4, request)
        assert [row.error_code for row in response.coordinators] == [15, 0]


# -- InitProducerId


@pytest.mark.parametrize("version", range(6))
async def test_producer_ids_come_one_after_the_other(version: int) -> None:
    async with ClusterWorld() as world:
        request = InitProducerIdRequest(transactional_id=None)
        responses = [await world.ask(init_producer_id, version, request) for _ in range(3)]
        assert [(each.error_code, each.producer_id, each.producer_epoch) for each in responses] == [
            (0, 0, 0),
            (0, 1, 0),
            (0, 2, 0),
        ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"producer_id": 5, "producer_epoch": 1}, 0),
        ({"producer_id": 5}, 42),
        ({"producer_epoch": 5}, 42),
        ({"transactional_id": "", "transaction_timeout_ms": 1000}, 42),
        ({"transactional_id": "x", "transaction_timeout_ms": 0}, 50),
        ({"transactional_id": "x", "transaction_timeout_ms": 900_001}, 50),
        ({"transactional_id": "x", "transaction_timeout_ms": 900_000}, 16),
        ({"transactional_id": "x", "transaction_timeout_ms": 0, "producer_id": 5}, 42),
    ],
)
async def test_what_producers_may_ask(fields: dict[str, Any], error: int) -> None:
    async with ClusterWorld() as world:
        request = InitProducerIdRequest(**{"transactional_id": None, **fields})
        response = await world.ask(init_producer_id, 5, request)
        assert response.error_code == error
        assert (response.producer_id, response.producer_epoch) == ((0, 0) if error == 0 else (-1, -1))
