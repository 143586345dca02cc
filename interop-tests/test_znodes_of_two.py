"""Two of our brokers keep the same nodes in ZooKeeper as two real Kafkas 3.9.2 while partitions move, have
no leader and have unclean ones: their nodes are compared one by one, at the same moments of the same story.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.client import KazooClient

from broker_cluster import FAILOVER_S, BrokerCluster, settled_replicas
from kcompat.cluster.feature_levels import SUPPORTED, supported_payload
from kcompat.cluster.znodes import LOG_DIR_EVENTS, broker_path
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_requests import produce
from znodes_shown import nodes

if TYPE_CHECKING:
    from pathlib import Path

    from support.raw_client import RawClient
    from znodes_shown import Node

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.thorough("test_znodes.py compares the nodes of one broker with those of one Kafka"),
]

CONTROLLER, OTHER = 1, 2
DIRECTORIES = ("one", "two")
RACKS = ("here", "there")
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "auto.leader.rebalance.enable": "false",
    "replica.high.watermark.checkpoint.interval.ms": "50",  # ours looks as often for lost directories
    "log.dirs": ",".join(f"HOME/{name}" for name in DIRECTORIES),
}
FAILED = ErrorCode.KAFKA_STORAGE_ERROR
Moments = dict[str, dict[str, "Node"]]


class Told:
    """A story of one cluster, and its nodes at some moments."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self.cluster = cluster
        self.moments: Moments = {}
        self._zookeeper = KazooClient(cluster.zookeeper.bootstrap)

    def tell(self) -> Moments:
        self._zookeeper.start()
        try:
            self._moves()
            self._deaths()
            self._loss_of_a_directory()
        finally:
            self._zookeeper.stop()
            self._zookeeper.close()
        return self.moments

    def _look(self, moment: str) -> None:
        """Note what there is, but for registrations of the dead: they last as long as their sessions."""
        dead = [broker_path(each) for each, broker in self.cluster.brokers.items() if not broker.is_running()]
        ports = [broker.port for broker in self.cluster.brokers.values()]
        shown = nodes(self._zookeeper, "", *ports)
        self.moments[moment] = {
            path: node for path, node in shown.items() if not path.startswith(("/zookeeper", *dead))
        }

    def _moves(self) -> None:
        cluster = self.cluster
        cluster.create_topic("moved", 2, placed=[[CONTROLLER], [OTHER]])
        cluster.create_topic("lonely", 1, placed=[[OTHER]])
        cluster.create_topic("unclean", 1, placed=[[CONTROLLER, OTHER]])
        with cluster.client(CONTROLLER) as client:
            alter(client, "unclean", "unclean.leader.election.enable", "true")
        self._look("all is well")
        kind = AlterPartitionReassignmentsRequest
        wanted = [
            kind.ReassignablePartition(0, [OTHER]),
            kind.ReassignablePartition(1, [OTHER, CONTROLLER]),
        ]
        cluster.freeze(OTHER)
        try:
            with cluster.client(CONTROLLER) as client:
                answer = client.call(kind(topics=[kind.ReassignableTopic("moved", wanted)]), 0)
                assert answer.error_code == 0
                assert [row.error_code for row in answer.responses[0].partitions] == [0, 0]
            self._look("partitions move")
        finally:
            cluster.thaw(OTHER)
        cluster.wait(lambda shown: settled_replicas(shown, "moved", 0) == [OTHER])
        cluster.wait(lambda shown: settled_replicas(shown, "moved", 1) == [OTHER, CONTROLLER])
        self._look("they have moved")

    def _deaths(self) -> None:
        cluster = self.cluster
        cluster.brokers[OTHER].kill()
        cluster.wait(
            lambda shown: leaders(shown, "lonely") == [-1] and leaders(shown, "moved") == [-1, CONTROLLER],
            FAILOVER_S,
        )
        self._look("one is dead")
        with cluster.client(CONTROLLER) as client:
            assert produce(client, "unclean", some_record()).error_code == 0
        cluster.brokers[CONTROLLER].kill()
        cluster.restart(OTHER)
        cluster.wait(
            lambda shown: leaders(shown, "unclean") == leaders(shown, "lonely") == [OTHER], FAILOVER_S
        )
        self._look("the other is dead")
        cluster.restart(CONTROLLER)
        cluster.wait_until_in_sync()
        self._look("both are back")

    def _loss_of_a_directory(self) -> None:
        """The controller, by now the other one, is frozen: it would remove at once what is left for it."""
        cluster = self.cluster
        cluster.create_topic("lost", 1, placed=[[CONTROLLER]])
        homes = [cluster.brokers[CONTROLLER].home / name for name in DIRECTORIES]
        eventually(lambda: any(map(has_lost, homes)))  # ours may be shown a role a little before it takes it
        (home,) = filter(has_lost, homes)
        with cluster.client(CONTROLLER) as client:
            alter(client, "lost", "segment.bytes", "100")
            cluster.freeze(OTHER)
            try:
                home.rename(home.with_name("elsewhere"))
                eventually(lambda: produce(client, "lost", some_record()).error_code == FAILED)
                eventually(lambda: self._zookeeper.get_children(LOG_DIR_EVENTS) != [])
                shown = nodes(self._zookeeper, LOG_DIR_EVENTS)
            finally:
                cluster.thaw(OTHER)
        self.moments["a directory is lost"] = shown
        eventually(lambda: self._zookeeper.get_children(LOG_DIR_EVENTS) == [])


def has_lost(home: Path) -> bool:
    """Whether the partition that is to be lost is in this directory."""
    return (home / "lost-0").is_dir()


def alter(client: RawClient, topic: str, key: str, value: str) -> None:
    """Set one configuration of a topic."""
    kind = IncrementalAlterConfigsRequest
    resource = kind.AlterConfigsResource(2, topic, [kind.AlterableConfig(key, 0, value)])
    answer = client.call(kind([resource]), 1)
    assert answer.responses[0].error_code == 0, answer


def some_record() -> bytes:
    return build_batch([Record(0, int(time.time() * 1000), None, b"value")])


def leaders(shown: Any, topic: str) -> list[int]:
    """Return the leader of each partition."""
    found = [part for row in shown.topics if row.name == topic for part in row.partitions]
    return [part.leader_id for part in sorted(found, key=lambda part: part.partition_index)]


@pytest.fixture(scope="module")
def both() -> tuple[Moments, Moments]:
    """Return the moments of Kafka, and ours."""
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(told, ("kafka", "kcompat"))
    return theirs, ours


def told(kind: str) -> Moments:
    with BrokerCluster((kind,) * 2, SETTINGS, racks=RACKS) as cluster:
        moments = Told(cluster).tell()
        for broker in cluster.brokers.values():
            assert kind == "kafka" or "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)
            broker.kill()
    return moments


MOMENTS = (
    "all is well",
    "partitions move",
    "they have moved",
    "one is dead",
    "the other is dead",
    "both are back",
    "a directory is lost",
)


@pytest.mark.parametrize("moment", MOMENTS)
def test_they_hold_the_same(both: tuple[Moments, Moments], moment: str) -> None:
    theirs, ours = (moments[moment] for moments in both)
    assert sorted(ours) == sorted(theirs)
    for path in theirs:
        kafka, mine = theirs[path], ours[path]
        if path.startswith("/brokers/ids/"):
            assert mine["payload"]["features"] == supported_payload(SUPPORTED)
            mine["payload"]["features"] = {}  # a Kafka with ZooKeeper has none
        if path.startswith("/brokers/topics/"):
            steps = zip(took_out_steps(mine), took_out_steps(kafka), strict=True)
            assert all(fewer <= more for fewer, more in steps), path
        assert mine == kafka, path


def took_out_steps(node: Node) -> tuple[int, int]:
    """How often it was written, and how many elections there have been. Kafka writes a topic once for each of
    its partitions that begins or ends to move; a partition that was without a leader first, and then
    with an unclean one; and once more where a replica is taken away.
    """
    payload = node["payload"]
    return node.pop("version"), payload.pop("leader_epoch", 0) if isinstance(payload, dict) else 0


def test_the_story_has_what_it_is_about(both: tuple[Moments, Moments]) -> None:
    for moments in both:
        moving = moments["partitions move"]["/brokers/topics/moved"]["payload"]
        assert moving["adding_replicas"] == {"0": [OTHER], "1": [CONTROLLER]}
        assert moving["removing_replicas"] == {"0": [CONTROLLER]}
        state = "/brokers/topics/{}/partitions/0/state"
        assert moments["one is dead"][state.format("lonely")]["payload"]["leader"] == -1
        unclean = state.format("unclean")
        assert moments["the other is dead"][unclean]["payload"]["leader_recovery_state"] == 1
        assert "leader_recovery_state" not in moments["both are back"][unclean]["payload"]
        lost = moments["a directory is lost"]["/log_dir_event_0000000000"]["payload"]
        assert lost == {"version": 1, "broker": CONTROLLER, "event": 1}
        racks = [moments["all is well"][f"/brokers/ids/{each}"]["payload"]["rack"] for each in (1, 2)]
        assert racks == list(RACKS)
