"""Brokers over an ensemble of three real ZooKeepers whose members die: theirs, the leader, and most of them.

``pytest --target=kafka`` plays the same with three real Kafkas.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from kazoo.client import KazooClient

from broker_cluster import BrokerCluster
from cluster_load import LIGHT_PAUSE_S, Load
from kcompat.cluster import znodes
from kcompat.protocol.errors import ErrorCode
from support.eventually import eventually
from support.history import violations
from support.raw_requests import create_topic
from zookeeper_ensemble import ZooKeeperEnsemble, start_together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zookeeper_ensemble import Member

PARTITIONS = 3
TIMEOUT_S = 60


@pytest.fixture
def ensemble() -> ZooKeeperEnsemble:
    """The cluster starts it, and ends it."""
    return ZooKeeperEnsemble(chroot="/of/kafka")


@pytest.fixture
def cluster(request: pytest.FixtureRequest, ensemble: ZooKeeperEnsemble) -> Iterator[BrokerCluster]:
    kind: str = request.config.getoption("--target")
    with BrokerCluster((kind,) * 3, ensemble=ensemble) as running:
        yield running
        for broker in running.brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


@contextmanager
def looking(ensemble: ZooKeeperEnsemble) -> Iterator[KazooClient]:
    """A client of a moment."""
    client = KazooClient(ensemble.bootstrap)
    client.start(TIMEOUT_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def sessions(ensemble: ZooKeeperEnsemble, cluster: BrokerCluster) -> dict[int, int]:
    """Return the session of each broker, which owns its registration."""
    with looking(ensemble) as client:
        owned = {each: client.exists(znodes.broker_path(each)) for each in cluster.brokers}
    return {each: stat.ephemeralOwner for each, stat in owned.items() if stat is not None}


def session_of_controller(ensemble: ZooKeeperEnsemble) -> int:
    """Return the session that owns the node of the controller; 0 if there is no such node."""
    with looking(ensemble) as client:
        stat = client.exists(znodes.CONTROLLER)
    return 0 if stat is None else int(stat.ephemeralOwner)


class Story:
    """Records under way, while things happen to the ensemble."""

    def __init__(self, ensemble: ZooKeeperEnsemble, cluster: BrokerCluster, load: Load) -> None:
        self.ensemble = ensemble
        self.cluster = cluster
        self.load = load
        self.sessions = sessions(ensemble, cluster)
        self.controller = session_of_controller(ensemble)
        self._created = 0

    def member_of_controller(self) -> Member:
        """The one that the controller has its connection to."""
        return self.ensemble.connected()[self.controller]

    def all_goes_on(self) -> None:
        """Every broker has its session, with members that live; records are acknowledged; the controller, the
        same as before, creates a topic.
        """
        eventually(
            lambda: set(self.sessions.values()) <= set(self.ensemble.connected()),
            "all brokers are connected",
            TIMEOUT_S,
        )
        self.records_go_on()
        self._created += 1
        eventually(self._can_create, "a topic is created", TIMEOUT_S)
        self.cluster.wait_until_in_sync(TIMEOUT_S)
        assert sessions(self.ensemble, self.cluster) == self.sessions
        assert session_of_controller(self.ensemble) == self.controller

    def _can_create(self) -> bool:
        """Without a connection to ZooKeeper the controller is none."""
        controller = self.cluster.metadata().controller_id
        if controller not in self.cluster.brokers:
            return False
        with self.cluster.client(controller) as client:
            error = create_topic(client, f"created-{self._created}", replicas=3)
        assert error in (ErrorCode.NONE, ErrorCode.NOT_CONTROLLER)
        return error == ErrorCode.NONE

    def records_go_on(self) -> None:
        now = time.monotonic()
        for partition in range(PARTITIONS):
            self.load.wait_for_acknowledgement(partition, now, TIMEOUT_S)


def test_members_die_and_brokers_keep_their_sessions(
    ensemble: ZooKeeperEnsemble, cluster: BrokerCluster, name: str
) -> None:
    cluster.create_topic(name, PARTITIONS)
    with Load(cluster.bootstrap, name, PARTITIONS, producers=2, pause_s=LIGHT_PAUSE_S) as load:
        story = Story(ensemble, cluster, load)
        for which in (story.member_of_controller, ensemble.leader):
            victim = which()
            victim.kill()
            story.all_goes_on()
            victim.start(TIMEOUT_S)

        most = ensemble.members[:2]
        for victim in most:
            victim.kill()
        story.records_go_on()
        start_together(most)
        story.all_goes_on()

        ensemble.leader().kill()
        controller = cluster.metadata().controller_id
        cluster.brokers[controller].kill()
        cluster.wait(lambda shown: shown.controller_id not in (controller, -1), TIMEOUT_S)
        cluster.restart(controller)
        cluster.wait_until_in_sync(TIMEOUT_S)
        story.records_go_on()
        load.stop()
        load.read_to_the_end()
    assert len(load.history.sent) > 100
    assert load.denials == 0
    assert violations(load.history, idempotent=True) == []
    for broker in cluster.brokers.values():
        broker.stop()
    for partition in range(PARTITIONS):
        logs = cluster.contents(name, partition)
        assert len(logs) == len(cluster.brokers)
        assert len(set(logs.values())) == 1
