"""Three brokers in one process, on one virtual clock, from a seed: they start, serve and stop.

The same seed gives the same history to the last byte, another one another; whatever the history, nothing that
was acknowledged is lost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.records.batch import build_batch, iter_headers, read_records
from kcompat.records.record import Record
from support.virtual_brokers import VirtualBrokers, address_of
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from support.virtual_loop import VirtualLoop
    from support.virtual_network import VirtualClient

BROKERS = (1, 2, 3)
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "log.segment.bytes": "2000",
    "group.initial.rebalance.delay.ms": "50",
}
SEEDS = ("one", "two")


class Witness:
    """One producer's topic on one broker, and what was acknowledged of it."""

    def __init__(self, broker_id: int) -> None:
        self.address = address_of(broker_id)
        self.topic = f"topic-{broker_id}"
        self.acknowledged: list[bytes] = []

    async def create(self, client: VirtualClient) -> None:
        topic = CreateTopicsRequest.CreatableTopic(name=self.topic, num_partitions=1, replication_factor=1)
        answer = await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 5)
        assert answer.topics[0].error_code == 0, answer

    async def produce(self, client: VirtualClient, count: int, random: Random) -> None:
        for number in range(count):
            value = b"%s-%d" % (self.topic.encode(), len(self.acknowledged))
            batch = build_batch([Record(0, number, None, value + b"." * random.randint(0, 90))])
            data = ProduceRequest.PartitionProduceData(0, memoryview(batch))
            topic = ProduceRequest.TopicProduceData(name=self.topic, partition_data=[data])
            request = ProduceRequest(acks=random.choice((-1, 1)), timeout_ms=5000, topic_data=[topic])
            answer = await client.call(request, 9)
            (row,) = answer.responses[0].partition_responses
            assert (row.error_code, row.base_offset) == (0, len(self.acknowledged))
            self.acknowledged.append(value)
            await asyncio.sleep(random.uniform(0, 0.1))

    async def read(self, client: VirtualClient, until: int, *, max_wait_ms: int = 0) -> list[bytes]:
        values: list[bytes] = []
        while len(values) < until:
            row = FetchRequest.FetchPartition(0, fetch_offset=len(values), partition_max_bytes=1000)
            request = FetchRequest(
                max_wait_ms=max_wait_ms,
                min_bytes=1,
                topics=[FetchRequest.FetchTopic(self.topic, partitions=[row])],
            )
            answer = (await client.call(request, 11)).responses[0].partitions[0]
            assert answer.error_code == 0
            records = memoryview(answer.records or b"")
            for position, header in iter_headers(records):
                found = read_records(records[position : position + header.size])
                values += [
                    bytes(record.value or b"").rstrip(b".")
                    for record in found
                    if record.offset >= len(values)
                ]
        return values


async def consume_in_a_group(client: VirtualClient, witness: Witness, group: str) -> None:
    """One member joins, reads all that is there, and commits how far it came."""
    await client.call(FindCoordinatorRequest(key=group), 2)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    join = JoinGroupRequest(group, 10_000, 10_000, "", None, "consumer", [protocol])
    joined = await client.call(join, 5)
    if joined.error_code == 79:  # MEMBER_ID_REQUIRED
        join.member_id = joined.member_id
        joined = await client.call(join, 5)
    assert joined.error_code == 0, joined
    identity = (group, joined.generation_id, joined.member_id)
    assert (await client.call(SyncGroupRequest(*identity), 3)).error_code == 0
    assert (await client.call(HeartbeatRequest(*identity), 3)).error_code == 0
    values = await witness.read(client, len(witness.acknowledged))
    row = OffsetCommitRequest.OffsetCommitRequestPartition(0, len(values))
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(witness.topic, partitions=[row])
    answer = await client.call(OffsetCommitRequest(*identity, topics=[topic]), 7)
    assert answer.topics[0].partitions[0].error_code == 0


async def live(loop: VirtualLoop, home: Path, seed: str) -> list[str]:
    """Return the events while three brokers start, serve, stop, start again and serve again."""
    brokers = VirtualBrokers(loop, home, seed)
    witnesses = [Witness(broker_id) for broker_id in BROKERS]

    async def first_life(witness: Witness, broker_id: int) -> None:
        await asyncio.sleep(brokers.random.uniform(0, 1))
        node = brokers.broker(broker_id, SETTINGS)
        await node.start()
        client = await brokers.network.client(f"producer-{broker_id}", witness.address)
        reader = await brokers.network.client(f"reader-{broker_id}", witness.address)
        await witness.create(client)
        reading = asyncio.ensure_future(witness.read(reader, 30, max_wait_ms=1000))
        await witness.produce(client, 30, brokers.random)
        assert await reading == witness.acknowledged
        await consume_in_a_group(reader, witness, f"group-{broker_id}")
        await node.stop()
        with pytest.raises(ConnectionError):
            await client.call(HeartbeatRequest("g", 1, "m"), 3)

    async def second_life(witness: Witness, broker_id: int) -> None:
        node = brokers.broker(broker_id, SETTINGS)
        await node.start()
        client = await brokers.network.client(f"producer-{broker_id}", witness.address)
        await witness.produce(client, 3, brokers.random)
        assert await witness.read(client, 33) == witness.acknowledged
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(witness.topic, [0])
        committed = await client.call(OffsetFetchRequest(f"group-{broker_id}", [topic]), 5)
        assert committed.topics[0].partitions[0].committed_offset == 30
        await node.stop()

    for life in (first_life, second_life):
        await asyncio.gather(*map(life, witnesses, BROKERS))
    brokers.events.happened("the end")
    return brokers.events


def history(home: Path, seed: str) -> list[str]:
    home.mkdir()
    return run_virtually(lambda loop: live(loop, home, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_gives_the_same_history(tmp_path: Path, seed: str) -> None:
    first, second = history(tmp_path / "first", seed), history(tmp_path / "second", seed)
    assert len(first) > 900
    different = next((pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]), None)
    assert different is None
    assert len(first) == len(second)


def test_another_seed_gives_another_history(tmp_path: Path) -> None:
    first, second = (history(tmp_path / seed, seed) for seed in SEEDS)
    assert first != second
