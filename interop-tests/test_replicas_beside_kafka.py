"""Replicas of ours and of a real Kafka 3.9.2: each follows the other, byte for byte, and a Kafka decides."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.client import KazooClient

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from our_replicas import OurReplicas, until
from support.raw_client import RawClient
from support.raw_requests import describe_topic, produce
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.replication.partition import Partition

KAFKA, OURS = 1, 2
KAFKA_LEADS, WE_LEAD = 0, 1
LAG_MS = 1500
TOPIC = "t"


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as zookeeper:
        yield zookeeper


class Cluster:
    """A real Kafka, which is the controller, and a broker of ours."""

    def __init__(self, kafka: ZooKeeperKafka, ours: OurReplicas, kafka_logs: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self.ours, self._kafka_logs = ours, kafka_logs
        self._clients = {KAFKA: RawClient(("127.0.0.1", kafka.port)), OURS: RawClient(ours.address)}

    async def call(self, what: Any, *arguments: Any, **named: Any) -> Any:
        """Do what blocks beside the loop, which our broker needs."""
        return await self._loop.run_in_executor(None, partial(what, *arguments, **named))

    async def begin(self) -> None:
        """Have a topic with two partitions; each broker leads one."""
        for client in self._clients.values():
            await self.call(client.__enter__)
        assignments = [
            CreateTopicsRequest.CreatableReplicaAssignment(KAFKA_LEADS, [KAFKA, OURS]),
            CreateTopicsRequest.CreatableReplicaAssignment(WE_LEAD, [OURS, KAFKA]),
        ]
        row = CreateTopicsRequest.CreatableTopic(TOPIC, -1, -1, assignments)
        request = CreateTopicsRequest([row], 10_000)

        async def is_created() -> bool:
            """Not before the controller has heard of us."""
            answer = await self.call(self._clients[KAFKA].call, request, 4)
            return not answer.topics[0].error_code

        async def is_here() -> bool:
            return None not in {self.ours.partition(TOPIC, index) for index in (WE_LEAD, KAFKA_LEADS)}

        await until(is_created)
        await until(is_here)

    def end(self) -> None:
        """Let go of the connections."""
        for client in self._clients.values():
            client.close()

    def partition(self, index: int) -> Partition:
        """Return our replica of the partition."""
        found = self.ours.partition(TOPIC, index)
        assert found is not None
        return found

    async def write(self, to: int, index: int, count: int, acks: int = -1) -> None:
        """Write so many batches."""
        for number in range(count):
            now_ms = int(time.time() * 1000)  # a Kafka deletes what is old
            batch = build_batch([Record(at, now_ms, None, b"%d of %d" % (at, number)) for at in range(3)])
            written = await self.call(produce, self._clients[to], TOPIC, batch, partition=index, acks=acks)
            assert written.error_code == 0

    async def isr(self, index: int) -> list[int]:
        """Return the ISR as Kafka shows it."""
        described = await self.call(describe_topic, self._clients[KAFKA], TOPIC)
        return next(row.isr_nodes for row in described.partitions if row.partition_index == index)

    async def until_isr(self, index: int, *expected: int) -> None:
        """Wait until these are in sync."""

        async def is_so() -> bool:
            return sorted(await self.isr(index)) == list(expected)

        await until(is_so)

    async def until_equal(self, index: int) -> None:
        """Both logs hold the same bytes, and all of it is committed."""
        ours = self.partition(index)

        async def is_committed() -> bool:
            return ours.high_watermark == ours.log.log_end_offset

        await until(is_committed)
        theirs = await self.call(contents, self._kafka_logs / f"{TOPIC}-{index}")
        mine = await self.call(contents, Path(ours.log.directory))
        assert len(theirs) > 0
        assert mine[: ours.log.write_position] == theirs


def contents(directory: Path) -> bytes:
    """The bytes of the first segment."""
    return (directory / "00000000000000000000.log").read_bytes()


async def play(zookeeper: ZooKeeper, home: Path, release: str) -> None:
    settings = {
        "controlled.shutdown.enable": "false",
        "replica.lag.time.max.ms": str(LAG_MS),
        "inter.broker.protocol.version": release,
    }
    chroot = f"/replicas-{release}"
    with ZooKeeperKafka(zookeeper, properties=settings, chroot=chroot) as kafka:
        client = KazooClient(f"{zookeeper.bootstrap}{chroot}")
        client.start()
        ours = OurReplicas(OURS, home, client, inter_broker_protocol_version=release)
        cluster = Cluster(kafka, ours, kafka.home / "data")
        try:
            await ours.register()
            await cluster.begin()
            await each_follows_the_other(cluster)
            await who_stops_fetching_leaves_and_returns(cluster)
            await a_leader_that_was_replaced_cuts_what_it_wrote(cluster)
        finally:
            cluster.end()
            await ours.stop()
            client.stop()
            client.close()


async def each_follows_the_other(cluster: Cluster) -> None:
    await cluster.write(KAFKA, KAFKA_LEADS, 20)
    await cluster.write(OURS, WE_LEAD, 20)
    for index in (KAFKA_LEADS, WE_LEAD):
        await cluster.until_equal(index)


async def who_stops_fetching_leaves_and_returns(cluster: Cluster) -> None:
    cluster.ours.fetching.leave(TOPIC, KAFKA_LEADS)
    await cluster.write(KAFKA, KAFKA_LEADS, 1, acks=1)
    await cluster.until_isr(KAFKA_LEADS, KAFKA)
    await cluster.write(KAFKA, KAFKA_LEADS, 20, acks=1)
    cluster.ours.fetching.follow(cluster.partition(KAFKA_LEADS))
    await cluster.until_isr(KAFKA_LEADS, KAFKA, OURS)
    await cluster.write(KAFKA, KAFKA_LEADS, 1)
    await cluster.until_equal(KAFKA_LEADS)


async def a_leader_that_was_replaced_cuts_what_it_wrote(cluster: Cluster) -> None:
    """We lead, are taken for dead, and write on; when we are back, a Kafka leads."""
    ours = cluster.partition(WE_LEAD)
    await cluster.ours.unregister()
    await cluster.until_isr(WE_LEAD, KAFKA)
    assert ours.is_leader, "nobody has told us"
    await cluster.write(OURS, WE_LEAD, 5, acks=1)
    await cluster.write(KAFKA, WE_LEAD, 2)
    await cluster.ours.register()
    await cluster.until_isr(WE_LEAD, KAFKA, OURS)
    assert not ours.is_leader
    await cluster.write(KAFKA, WE_LEAD, 1)
    await cluster.until_equal(WE_LEAD)
    assert ours.log.log_end_offset == 69


@pytest.mark.parametrize(
    "release", ["3.9", pytest.param("2.6", marks=pytest.mark.thorough("the same with 3.9"))]
)
def test_replicas_of_both_kinds_are_the_same(zookeeper: ZooKeeper, tmp_path: Path, release: str) -> None:
    """2.6 knows neither ids of topics nor epochs in Fetch: logs are cut by OffsetForLeaderEpoch."""
    asyncio.run(asyncio.wait_for(play(zookeeper, tmp_path, release), 100))
