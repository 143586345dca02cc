"""Brokers of ours and of Kafka 3.9.2 are one cluster: each leads, follows, decides and coordinates for all.

`KCOMPAT_KILLS=100` kills that many leaders; a few else.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from broker_cluster import BrokerCluster
from cluster_load import Load
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.records.batch import iter_headers
from support.history import violations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ONE_OF_OURS = ("kcompat", "kafka", "kafka")
TWO_OF_OURS = ("kafka", "kcompat", "kcompat")
ODD, OTHER, THIRD = 1, 2, 3
"""The odd one is started first, and so it is the first controller."""
TOPIC = "t"
PLACED = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (2, 3, 1))
MOVED = 3
"""The partition that moves from one kind to the other."""
DOUBLED = re.compile(rf"^{TOPIC}-(\d+): .+ is at offset (\d+) and again at (\d+)$")
KILLS = int(os.environ.get("KCOMPAT_KILLS", "2"))
FAILOVER_S = 40
"""A session, and what a loaded machine takes."""
GROUP_MOVES_S = 60
IN_SYNC_S = 60


@pytest.mark.timeout(240 + 60 * KILLS)
@pytest.mark.parametrize("kinds", [ONE_OF_OURS, TWO_OF_OURS], ids=["one-of-ours", "two-of-ours"])
def test_both_kinds_are_one_cluster(kinds: Sequence[str]) -> None:
    """Leaders move, are killed, and return under load; nothing is lost, and all replicas end the same."""
    with BrokerCluster(kinds) as cluster:
        assert cluster.metadata().controller_id == ODD
        cluster.create_topic(TOPIC, len(PLACED), placed=PLACED)
        groups = {broker_id: coordinated_by(cluster, broker_id) for broker_id in (ODD, OTHER)}
        for number, group in groups.items():
            commit(cluster, group, number)
        with Load(cluster.bootstrap, TOPIC, len(PLACED), producers=2) as load:
            all_are_written(load)
            for replicas in ((OTHER, THIRD), (ODD, OTHER), (ODD, THIRD, OTHER)):
                cluster.reassign(TOPIC, MOVED, replicas)
                cluster.elect_preferred()
                all_are_written(load)
            for victim, _ in zip(itertools.cycle((ODD, OTHER)), range(KILLS), strict=False):
                kill_and_return(cluster, load, victim)
                assert {broker_id: committed(cluster, group) for broker_id, group in groups.items()} == {
                    broker_id: broker_id for broker_id in groups
                }
            cluster.reassign(TOPIC, MOVED, (THIRD, OTHER))
            all_are_written(load)
        load.read_to_the_end()
        cluster.wait_until_in_sync()
        logs = {}
        for broker in cluster.brokers.values():
            broker.stop()
        for index in range(len(PLACED)):
            copies = cluster.contents(TOPIC, index)
            assert sorted(copies) == ([OTHER, THIRD] if index == MOVED else [ODD, OTHER, THIRD])
            assert len(set(copies.values())) == 1, {at: len(copy) for at, copy in copies.items()}
            logs[index] = copies[OTHER]
        assert [found for found in violations(load.history) if not sent_anew(found, logs)] == []


def sent_anew(found: str, logs: Mapping[int, bytes]) -> bool:
    """Whether a record is doubled because its producer sent it in another epoch of its own.

    librdkafka begins one where a new leader has refused a batch for the gap before it while the old leader
    has not yet answered for those that fill it. No broker can know such a record again.
    """
    doubled = DOUBLED.search(found)
    if doubled is None:
        return False
    index, first, second = map(int, doubled.groups())
    batches = [header for _, header in iter_headers(memoryview(logs[index]))]
    before, after = (
        next(batch for batch in batches if batch.base_offset <= offset <= batch.last_offset)
        for offset in (first, second)
    )
    return before.producer_id == after.producer_id and before.producer_epoch < after.producer_epoch


def all_are_written(load: Load) -> None:
    """A record of each partition is acknowledged from now on."""
    now_s = time.monotonic()
    for _, index in load.places:
        load.wait_for_acknowledgement(index, now_s, FAILOVER_S)


def kill_and_return(cluster: BrokerCluster, load: Load, victim: int) -> None:
    """Kill a broker; the others go on; it returns, follows, and leads again."""
    cluster.brokers[victim].kill()
    all_are_written(load)
    cluster.restart(victim)
    cluster.wait_until_in_sync(IN_SYNC_S)
    cluster.elect_preferred()
    all_are_written(load)


def coordinated_by(cluster: BrokerCluster, broker_id: int) -> str:
    """The name of a group whose coordinator is this broker."""
    for number in itertools.count():
        group = f"group-{number}"
        if coordinator_of(cluster, group) == broker_id:
            return group
    raise AssertionError


def coordinator_of(cluster: BrokerCluster, group: str) -> int:
    """Who coordinates a group, once somebody does."""
    deadline = time.monotonic() + GROUP_MOVES_S
    with cluster.client(ODD) as client:
        while True:
            answer = client.call(FindCoordinatorRequest(key=group), 3)
            if answer.error_code == 0:
                return int(answer.node_id)
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)


def commit(cluster: BrokerCluster, group: str, offset: int) -> None:
    """Commit an offset of the first partition."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(cluster: BrokerCluster, group: str) -> int:
    """What was committed, as its coordinator of now has it."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    deadline = time.monotonic() + GROUP_MOVES_S
    try:
        while True:
            try:
                (found,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=10)
            except KafkaException:
                assert time.monotonic() < deadline
            else:
                return int(found.offset)
    finally:
        consumer.close()
