"""Requests between our broker and a real Kafka 3.9.2 in ZooKeeper mode: as peers, brokers and controllers."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.client import KazooClient
from msgspec.structs import replace

from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.cluster.control_requests import (
    AssignedPartition,
    ControlRequest,
    LeaderAndIsr,
    Reply,
    Role,
    StoppedPartition,
    StopReplica,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.znodes import BrokerRegistration, broker_path, encode_broker
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.loop_clock import LoopClock
from kcompat.net.outbound_socket import SocketConnector
from kcompat.net.plain_listener import bind
from kcompat.net.server import Server
from kcompat.peer.peers import Peers
from kcompat.peer.remote_broker import RemoteBroker
from kcompat.peer.remote_controller import RemoteController
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.asking import services_of
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import (
    create_topic,
    delete_topic,
    describe_topic,
    fetch_request,
    known_topic,
    produce,
)
from support.told_broker import HeardConfigs, ToldBroker
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from kcompat.cluster.control_requests import Answered
    from kcompat.promise import Promise

TIMEOUT_S = 20
OURS = 2
BETWEEN = pytest.mark.thorough("the first and the last of these releases")
VERSIONS = ("3.9", pytest.param("2.8", marks=BETWEEN), pytest.param("2.2", marks=BETWEEN), "0.11.0")


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as zookeeper:
        yield zookeeper


class Cluster:
    """A real Kafka of id 1, its ZooKeeper, and a client of each."""

    def __init__(self, kafka: ZooKeeperKafka, zookeeper: KazooClient) -> None:
        self.address = ("127.0.0.1", kafka.port)
        self.zookeeper = zookeeper
        self.client = RawClient(self.address)

    @property
    def kafka_epoch(self) -> int:
        """The broker epoch of the real Kafka."""
        return int(self.zookeeper.exists(broker_path(1)).czxid)

    def image(self, cluster: MetadataCache) -> None:
        """Have an image know the real Kafka, which is the controller."""
        info = BrokerInfo(1, None, {"PLAINTEXT": self.address})
        cluster.update(replace(cluster.image, controller_id=1, brokers={1: info}))


@contextmanager
def cluster_of(zookeeper: ZooKeeper, chroot: str, **properties: str) -> Iterator[Cluster]:
    settings = {key.replace("_", "."): value for key, value in properties.items()}
    settings["controlled.shutdown.enable"] = "false"  # nobody is left to take over
    with ZooKeeperKafka(zookeeper, properties=settings, chroot=chroot) as kafka:
        client = KazooClient(f"{zookeeper.bootstrap}{chroot}")
        client.start()
        try:
            cluster = Cluster(kafka, client)
            with cluster.client:
                yield cluster
        finally:
            client.stop()
            client.close()


@pytest.fixture(scope="module")
def cluster(zookeeper: ZooKeeper) -> Iterator[Cluster]:
    with cluster_of(zookeeper, "/whole") as cluster:
        yield cluster


class Here:
    """Our side: peers, and what asks through them."""

    def __init__(self, cluster: Cluster, broker_id: int, broker_epoch: int, **settings: str) -> None:
        loop = asyncio.get_running_loop()
        self.clock = LoopClock(loop)
        self.config = ConfigFeed(
            BrokerConfig({key.replace("_", "."): value for key, value in settings.items()})
        )
        image = MetadataCache("")
        cluster.image(image)
        self.peers = Peers(
            broker_id, self.config, image, (SocketConnector(loop), self.clock, random.Random(1))
        )
        self.controller = RemoteController(
            broker_id, lambda: broker_epoch, self.peers, image, self.config, self.clock
        )


def run(program: Coroutine[Any, Any, None]) -> None:
    """Run a program to its end, within a time."""
    asyncio.run(asyncio.wait_for(program, limit_s(TIMEOUT_S)))


async def outcome(promise: Promise[Any]) -> Any:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    return await future


# What we ask of it


def test_a_kafka_answers_what_we_ask_as_a_peer(cluster: Cluster) -> None:
    create_topic(cluster.client, "asked")
    produce(cluster.client, "asked", build_batch([Record(0, 0, None, b"value")] * 100))
    topic_id = describe_topic(cluster.client, "asked").topic_id

    async def program() -> None:
        here = Here(cluster, OURS, -1)
        peer = here.peers.fetcher(1, 0)
        metadata, versions = [
            await outcome(promise)
            for promise in (
                peer.call(MetadataRequest(topics=None), 5000),
                peer.call(ApiVersionsRequest("a", "1"), 5000),
            )
        ]
        assert "asked" in [topic.name for topic in metadata.topics]
        listed = {row.api_key: row.max_version for row in versions.api_keys}
        served = {api.key for api in SERVED}
        assert {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA} <= served & listed.keys()
        assert (
            listed[ApiKey.LEADER_AND_ISR],
            listed[ApiKey.STOP_REPLICA],
            listed[ApiKey.UPDATE_METADATA],
        ) == (7, 4, 8)
        request = fetch_request("asked")
        request.topics[0].topic_id = topic_id
        fetched = await outcome(peer.call(request, 5000))
        assert len(fetched.responses[0].partitions[0].records) > 100
        epochs = OffsetForLeaderEpochRequest(-2)
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(leader_epoch=0)
        epochs.topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic("asked", [partition])]
        (topic,) = (await outcome(peer.call(epochs, 5000))).topics
        assert topic.partitions[0].end_offset == 100
        here.peers.close()

    run(program())


def test_a_kafka_is_our_controller(cluster: Cluster) -> None:
    """The request bears the id of the only broker there is, which is the controller itself."""
    create_topic(cluster.client, "led")
    topic_id = describe_topic(cluster.client, "led").topic_id

    async def program() -> None:
        here = Here(cluster, 1, cluster.kafka_epoch)
        blocks = [await outcome(here.controller.allocate_producer_ids()) for _ in range(2)]
        assert [block.last - block.first for block in blocks] == [999, 999]
        assert blocks[0].last < blocks[1].first

        created = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("automatic", 2, 1)], 5000)
        response = await outcome(here.controller.create_topics(created))
        assert [(topic.name, topic.error_code) for topic in response.topics] == [("automatic", 0)]

        member = AlterPartitionRequest.BrokerState(1)
        row = AlterPartitionRequest.PartitionData(0, 0, [1], [member], 0, 0)
        proposal = AlterPartitionRequest(
            1, cluster.kafka_epoch, [AlterPartitionRequest.TopicData("led", topic_id, [row])]
        )
        response = await outcome(here.controller.propose(proposal))
        (topic,) = response.topics
        (answer,) = topic.partitions
        assert (answer.error_code, answer.leader_id, answer.isr, topic.topic_id) == (0, 1, [1], topic_id)

        stale = Here(cluster, 1, cluster.kafka_epoch - 1)
        assert await outcome(stale.controller.allocate_producer_ids()) is None
        response = await outcome(stale.controller.controlled_shutdown())
        assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
        for each in (here, stale):
            each.peers.close()

    run(program())


# What its controller asks of us


@asynccontextmanager
async def our_broker(cluster: Cluster, told: ToldBroker) -> AsyncIterator[None]:
    """A broker of ours is registered, which takes everything. Its handlers are the real ones."""
    loop = asyncio.get_running_loop()
    listener = bind("PLAINTEXT", "127.0.0.1", 0)
    endpoints, protocols = {"PLAINTEXT": ("127.0.0.1", listener.port)}, {"PLAINTEXT": "PLAINTEXT"}
    epoch = -1
    services = services_of(
        config=BrokerConfig({}),
        served=SERVED,
        clock=LoopClock(loop),
        local=told,
        configs=HeardConfigs(),
        broker_epoch=lambda: epoch,
    )
    server = Server([listener], Dispatcher(services))
    server.start()
    payload = encode_broker(BrokerRegistration(endpoints, protocols), 0)
    create = partial(cluster.zookeeper.create, broker_path(OURS), payload, ephemeral=True, include_data=True)
    _, stat = await asyncio.to_thread(create)
    epoch = stat.czxid
    try:
        yield
    finally:
        await asyncio.to_thread(cluster.zookeeper.delete, broker_path(OURS))
        await server.stop(grace_s=0.1)


class Told(ToldBroker):
    """A broker that accepts all requests of a controller, and lets a test wait for them."""

    def __init__(self) -> None:
        super().__init__(Reply())
        self.has_heard = asyncio.Event()

    def give(self, news: ControlRequest, answered: Answered) -> None:
        super().give(news, answered)
        self.has_heard.set()


async def until_told(told: Told, kind: type[ControlRequest], concerns: str) -> Any:
    """The next news of a kind that names a topic, or any; what came before it is forgotten."""
    async with asyncio.timeout(limit_s(TIMEOUT_S)):
        while True:
            told.has_heard.clear()
            while told.heard:
                news = told.heard.pop(0)
                if isinstance(news, kind) and (
                    not concerns or concerns in [each.topic for each in news.partitions]
                ):
                    return news
            await told.has_heard.wait()


@pytest.fixture(params=VERSIONS)
def release(request: pytest.FixtureRequest) -> str:
    """A release among brokers: each has other versions of the requests of a controller."""
    return str(request.param)


@pytest.fixture
def of_release(request: pytest.FixtureRequest, zookeeper: ZooKeeper, release: str) -> Iterator[Cluster]:
    """A Kafka for one test, which may leave it with a controller that it does not obey."""
    chroot = f"/{request.function.__name__}-{release}"
    with cluster_of(zookeeper, chroot, inter_broker_protocol_version=release) as cluster:
        yield cluster


def test_its_controller_tells_us_our_roles(of_release: Cluster, release: str) -> None:
    """A topic is made, led by us, and deleted again: it goes only once our answers were understood."""

    async def program(cluster: Cluster) -> None:
        told = Told()
        async with our_broker(cluster, told):
            await until_told(told, UpdateMetadata, "")
            assignment = [
                CreateTopicsRequest.CreatableReplicaAssignment(0, [OURS, 1]),
                CreateTopicsRequest.CreatableReplicaAssignment(1, [1, OURS]),
            ]
            row = CreateTopicsRequest.CreatableTopic("ours", -1, -1, assignment)
            create = CreateTopicsRequest([row], 10_000)
            await asyncio.to_thread(cluster.client.call, create, 4)
            roles = await until_told(told, LeaderAndIsr, "ours")
            described = await asyncio.to_thread(known_topic, cluster.client, "ours")
            assert roles.controller_id == 1
            found = {each.index: each for each in roles.partitions}
            assert found[0].role == Role(OURS, 0, (OURS, 1), (OURS, 1))
            assert found[1].role == Role(1, 0, (1, OURS), (1, OURS))
            assert found[0].is_new is (release != "0.11.0")
            assert {leader.id for leader in roles.live_leaders} == {1, OURS}
            has_ids = release in ("3.9", "2.8")
            assert found[0].topic_id == (described.topic_id if has_ids else bytes(16))

            shown = await until_told(told, UpdateMetadata, "ours")
            assert shown.brokers.keys() == {1, OURS}
            assert shown.brokers[1].endpoints == {"PLAINTEXT": cluster.address}
            assert {each.index: each.info.leader for each in shown.partitions} == {0: OURS, 1: 1}

            assert await asyncio.to_thread(delete_topic, cluster.client, "ours") == 0
            stopped = await until_told(told, StopReplica, "ours")
            assert {each.index for each in stopped.partitions} <= {0, 1}
            assert await asyncio.to_thread(is_gone, cluster.zookeeper, "/brokers/topics/ours")

    run(program(of_release))


def is_gone(zookeeper: KazooClient, path: str) -> bool:
    """Whether a node is removed within the time of a test."""
    changed = threading.Event()
    return zookeeper.exists(path, watch=lambda _: changed.set()) is None or changed.wait(limit_s(TIMEOUT_S))


# What we tell it as its controller


def test_a_kafka_obeys_us_as_its_controller(of_release: Cluster, release: str) -> None:
    """With a greater epoch than its own controller has, we give it a topic to lead, and take it away."""

    async def program(cluster: Cluster) -> None:
        here = Here(cluster, 9, -1, inter_broker_protocol_version=release)
        us = BrokerInfo(9, None, {"PLAINTEXT": ("127.0.0.1", 9)})
        kafka = BrokerInfo(1, None, {"PLAINTEXT": cluster.address})
        topic_id = bytes(range(1, 17))
        replies: asyncio.Queue[Reply] = asyncio.Queue()

        async def give(remote: RemoteBroker, news: ControlRequest) -> Reply:
            remote.give(news, replies.put_nowait)
            return await replies.get()

        former = RemoteBroker(kafka, cluster.kafka_epoch - 1, here.peers, here.config, here.clock)
        remote = RemoteBroker(kafka, cluster.kafka_epoch, here.peers, here.config, here.clock)
        brokers = {1: kafka, 9: us}
        knows_epochs = release != "0.11.0"
        if knows_epochs:
            reply = await give(former, UpdateMetadata(9, 1000, brokers))
            assert reply == Reply(ErrorCode.STALE_BROKER_EPOCH)
        assert await give(remote, UpdateMetadata(9, 1000, brokers)) == Reply()

        role = Role(1, 7, (1,), (1, 9))
        roles = LeaderAndIsr(9, 1000, [AssignedPartition("given", topic_id, 0, role, is_new=True)], [kafka])
        assert await give(remote, roles) == Reply()
        again = await give(remote, roles)
        assert again == Reply(partitions={("given", 0): ErrorCode.STALE_CONTROLLER_EPOCH})
        shown = UpdatedPartition("given", topic_id, 0, PartitionInfo(1, 7, (1,), (1, 9), (9,)))
        dead = {8: BrokerInfo(8, None, {"PLAINTEXT": ("127.0.0.1", 8)})}
        assert await give(remote, UpdateMetadata(9, 1000, brokers, [shown], dead)) == Reply()
        told = await asyncio.to_thread(cluster.client.call, MetadataRequest(topics=[]), 4)
        assert {each.node_id for each in told.brokers} == {1, 8, 9}

        batch = build_batch([Record(0, 0, None, b"value")])
        written = await asyncio.to_thread(produce, cluster.client, "given", batch)
        assert (written.error_code, written.base_offset) == (0, 0)
        described = await asyncio.to_thread(describe_topic, cluster.client, "given")
        partition = described.partitions[0]
        assert (partition.leader_id, partition.leader_epoch) == (1, 7)
        assert (partition.replica_nodes, partition.isr_nodes) == ([1, 9], [1])

        old = await give(remote, StopReplica(9, 999, [StoppedPartition("given", 0, 8, True)]))
        assert old == Reply(ErrorCode.STALE_CONTROLLER_EPOCH)
        assert await give(remote, StopReplica(9, 1000, [StoppedPartition("given", 0, 8, True)])) == Reply()
        gone = UpdatedPartition("given", topic_id, 0, PartitionInfo(-2, 8, (), (1, 9)))
        assert await give(remote, UpdateMetadata(9, 1000, brokers, [gone])) == Reply()
        described = await asyncio.to_thread(describe_topic, cluster.client, "given")
        assert described.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        told = await asyncio.to_thread(cluster.client.call, MetadataRequest(topics=[]), 4)
        assert {each.node_id for each in told.brokers} == {1, 9}
        for each in (former, remote):
            each.close()

    run(program(of_release))
