"""Brokers of ours and of Kafka 3.9.2 are one cluster: each leads, follows, decides and coordinates for all.

`KCOMPAT_KILLS=100` kills that many leaders where one of three brokers is of ours, and where two are, in
short sessions, as each kill waits for the end of one. Else there are two of each kind, so that either is led
by the other and by its own, and one of each is killed.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from broker_cluster import FAILOVER_S, HURRIED, BrokerCluster
from cluster_load import LIGHT_PAUSE_S, Load
from mixed_actors import SETTINGS, Actors, Duty, coordinator_of
from support.cluster_coordinators import OF_GROUPS, OF_TRANSACTIONS
from support.eventually import Patience, eventually
from support.history import violations
from support.new_epochs import NewEpochs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.thorough("test_replicas_beside_kafka.py has brokers of both kinds in one cluster")

KAFKA, OURS = "kafka", "kcompat"
FIRST, OTHER, THIRD = 1, 2, 3
"""The first is of another kind than the other, is started first, and so it is the first controller."""
THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (2, 3, 1))
FOUR = ((1, 2, 3), (2, 4, 1), (4, 3, 2), (3, 1, 4))
CLUSTERS = {
    "one-of-ours": ((OURS, KAFKA, KAFKA), THREE),
    "two-of-ours": ((KAFKA, OURS, OURS), THREE),
    "two-of-each": ((KAFKA, OURS, OURS, KAFKA), FOUR),
}
TOPIC = "t"
MOVED = 3
"""The partition that moves from one kind to the other."""
KILLS = int(os.environ.get("KCOMPAT_KILLS", "0"))
PLAYED = ["one-of-ours", "two-of-ours"] if KILLS else ["two-of-each"]
FEW_KILLS = 2
GROUP_MOVES_S = 120
IN_SYNC_S = 120


@pytest.mark.timeout(480 + 60 * KILLS)
@pytest.mark.parametrize("name", PLAYED)
def test_both_kinds_are_one_cluster(name: str, tmp_path: Path) -> None:
    """Leaders and coordinators move, are killed, and return under load; nothing is lost or done twice, no
    commit goes back, and all replicas end the same.
    """
    kinds, placed = CLUSTERS[name]
    choice = random.Random(7)
    with BrokerCluster(kinds, SETTINGS | (HURRIED if KILLS else {})) as cluster:
        controllers = [cluster.metadata().controller_id]
        assert controllers == [FIRST]
        cluster.create_topic(TOPIC, len(placed), placed=placed)
        groups = {broker_id: coordinated_by(cluster, broker_id) for broker_id in (FIRST, OTHER)}
        for number, group in groups.items():
            commit(cluster, group, number)
        with (
            Actors(cluster, TOPIC, len(placed), tmp_path) as actors,
            Load(cluster.bootstrap, TOPIC, len(placed), producers=2, pause_s=LIGHT_PAUSE_S) as load,
        ):
            all_are_written(load)
            for replicas in ((OTHER, THIRD), (FIRST, OTHER), (FIRST, THIRD, OTHER)):
                cluster.reassign(TOPIC, MOVED, replicas)
                cluster.elect_preferred()
                all_are_written(load)
            for number in range(KILLS or FEW_KILLS):
                if number == 1:
                    the_other_kind_decides(cluster, kinds)
                pair = (FIRST, OTHER) if number % 2 == 0 else (OTHER, FIRST)
                actors.be_coordinated_by(*pair)
                controllers.append(cluster.metadata().controller_id)
                if number % 2 == 0:
                    actors.kill_one(choice)
                kill_and_return(cluster, load, pair[0])
                assert {broker_id: committed(cluster, group) for broker_id, group in groups.items()} == {
                    broker_id: broker_id for broker_id in groups
                }
            cluster.reassign(TOPIC, MOVED, (THIRD, OTHER))
            all_are_written(load)
            actors.settle()
        served = {(duty.kind, kinds[broker_id - 1]) for duty, broker_id in actors.served}
        assert served == set(itertools.product((OF_GROUPS, OF_TRANSACTIONS), (KAFKA, OURS)))
        assert {kinds[broker_id - 1] for broker_id in controllers} == {KAFKA, OURS}
        load.read_to_the_end()
        cluster.wait_until_in_sync()
        for broker in cluster.brokers.values():
            broker.kill()
        logs = same_on_all(cluster, {**dict(enumerate(placed)), MOVED: (THIRD, OTHER)})
        actors.find_the_same_on_all()
        epochs = NewEpochs(load.history, load.refusals, {(TOPIC, index): log for index, log in logs.items()})
        assert epochs.refused_without_a_gap() == []
        assert violations(load.history, sent_anew=epochs.sent_anew) == []


def the_other_kind_decides(cluster: BrokerCluster, kinds: Sequence[str]) -> None:
    """Depose the controller until it is of another kind than the first one; the kill of that may have been
    enough.
    """
    patience = Patience(FAILOVER_S)
    while kinds[cluster.metadata().controller_id - 1] == kinds[FIRST - 1]:
        assert patience.lasts, "only one kind is elected"
        cluster.depose_controller()


def same_on_all(cluster: BrokerCluster, placed: Mapping[int, Sequence[int]]) -> dict[int, bytes]:
    """Return the log of each partition, which must be the same on all replicas."""
    logs = {}
    for index, replicas in placed.items():
        copies = cluster.contents(TOPIC, index)
        assert sorted(copies) == sorted(replicas)
        assert len(set(copies.values())) == 1, {at: len(copy) for at, copy in copies.items()}
        logs[index] = copies[replicas[0]]
    return logs


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
        duty = Duty(OF_GROUPS, f"group-{number}")
        eventually(lambda duty=duty: coordinator_of(cluster, duty) > 0, "there is one", GROUP_MOVES_S)
        if coordinator_of(cluster, duty) == broker_id:
            return duty.name
    raise AssertionError


def commit(cluster: BrokerCluster, group: str, offset: int) -> None:
    """Commit an offset of the first partition."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(cluster: BrokerCluster, group: str) -> int:
    """Return the committed offset, as the current coordinator has it."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    patience = Patience(GROUP_MOVES_S)
    try:
        while True:
            try:
                (found,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=10)
            except KafkaException:
                assert patience.lasts
            else:
                return int(found.offset)
    finally:
        consumer.close()
