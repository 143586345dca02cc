"""Whether a coordinator's broker still leads: its followers are asked, and answer by fetching again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo, ClusterImage
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.coordinator_logs import TopicLog
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.waiting.delayed_fetch import DelayedFetch
from kcompat.replication.waiting.fetch_session import FetchTarget

from .conftest import ME

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.promise import Promise
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.waiting.delayed_fetch import Results
    from support.virtual_clock import VirtualClock

PATIENCE_MS = 5000
FETCH_WAIT_MS = 500
ALL = Role(leader=ME, leader_epoch=0, isr=(ME, 2, 3), replicas=(ME, 2, 3))


class Follower:
    """One that has all there is, and waits for more."""

    def __init__(self, broker_id: int, partition: Partition, replicas: ReplicaManager) -> None:
        self._reader = PartitionReader(replica_id=broker_id)
        self._target = FetchTarget("t", 0, FetchSpec(0, 10_000, 0, -1, 0))
        self._partition = partition
        self._replicas = replicas

    def fetch(self, now_ms: int) -> Promise[Results] | None:
        """Fetch as the handler does; None where that is answered at once."""
        fetch = DelayedFetch([(self._target, self._partition)], self._reader, min_bytes=1, max_bytes=10_000)
        results = fetch.read()
        fetch.note(results, now_ms)
        if fetch.must_answer(results):
            return None
        return self._replicas.replica_fetches.wait(fetch, fetch.keys, FETCH_WAIT_MS).promise


@pytest.fixture
def partition(
    make_partition: Callable[..., Partition], replicas: ReplicaManager, cluster: MetadataCache
) -> Partition:
    cluster.update(ClusterImage("c", brokers={each: BrokerInfo(each, None, {}) for each in (ME, 2, 3)}))
    partition = make_partition(role=None)
    replicas.take_role("t", 0, ALL)
    return partition


@pytest.fixture
def followers(partition: Partition, replicas: ReplicaManager) -> list[Follower]:
    return [Follower(each, partition, replicas) for each in (2, 3)]


def test_nobody_is_asked_where_nobody_else_is_in_sync(
    make_partition: Callable[..., Partition], replicas: ReplicaManager
) -> None:
    make_partition()
    assert TopicLog(replicas, "t").still_leads(0, PATIENCE_MS).value == ErrorCode.NONE


def test_all_in_sync_are_answered_at_once_and_have_to_fetch_twice(
    followers: list[Follower], replicas: ReplicaManager, clock: VirtualClock
) -> None:
    """The first fetch may have been sent before the question; only the fetch after its answer was certainly
    sent later.
    """
    parked = [each.fetch(clock.now_ms()) for each in followers]
    asked = TopicLog(replicas, "t").still_leads(0, PATIENCE_MS)
    assert [each is not None and each.done for each in parked] == [True, True]
    for follower in followers:
        assert not asked.done
        assert follower.fetch(clock.now_ms()) is None
        assert not asked.done
        assert follower.fetch(clock.now_ms()) is None
    assert asked.value == ErrorCode.NONE
    assert all(follower.fetch(clock.now_ms()) is not None for follower in followers), "they wait as ever"


def test_several_may_ask(followers: list[Follower], replicas: ReplicaManager, clock: VirtualClock) -> None:
    log = TopicLog(replicas, "t")
    first = log.still_leads(0, PATIENCE_MS)
    for follower in followers:
        follower.fetch(clock.now_ms())
    second = log.still_leads(0, PATIENCE_MS)
    for follower in followers:
        follower.fetch(clock.now_ms())
    assert (first.done, second.done) == (True, False)
    for follower in followers:
        follower.fetch(clock.now_ms())
    assert second.value == ErrorCode.NONE


def test_nobody_waits_for_those_that_fall_out_of_sync(
    partition: Partition, followers: list[Follower], replicas: ReplicaManager, clock: VirtualClock
) -> None:
    proposed = []
    replicas.propose_to(lambda _, pending: proposed.append(pending))
    asked = TopicLog(replicas, "t").still_leads(0, 10 * PATIENCE_MS)
    clock.advance(2 * PATIENCE_MS)
    for _ in range(2):
        followers[0].fetch(clock.now_ms())
    clock.advance(6 * PATIENCE_MS)
    followers[0].fetch(clock.now_ms())
    replicas.shrink_isrs()
    assert not asked.done
    partition.isr_accepted(proposed[0], 0, 1, (ME, 2))
    assert asked.value == ErrorCode.NONE


def test_who_is_not_followed_any_more_does_not_know(
    followers: list[Follower], replicas: ReplicaManager, clock: VirtualClock
) -> None:
    asked = TopicLog(replicas, "t").still_leads(0, PATIENCE_MS)
    for _ in range(3):
        followers[0].fetch(clock.now_ms())
    clock.advance(PATIENCE_MS)
    assert asked.value == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("leader", [ME, 2])
def test_another_role_ends_the_question(leader: int, partition: Partition, replicas: ReplicaManager) -> None:
    asked = TopicLog(replicas, "t").still_leads(0, PATIENCE_MS)
    replicas.take_role("t", 0, Role(leader=leader, leader_epoch=1, isr=(ME, 2), replicas=(ME, 2, 3)))
    assert asked.value == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.role.leader_epoch == 1


def test_who_does_not_lead_knows_at_once(replicas: ReplicaManager, partition: Partition) -> None:
    replicas.take_role("t", 0, Role(leader=2, leader_epoch=1, isr=(2,), replicas=(ME, 2, 3)))
    assert not partition.is_leader
    for index in (0, 1):
        answer = TopicLog(replicas, "t").still_leads(index, PATIENCE_MS)
        assert answer.value == ErrorCode.NOT_LEADER_OR_FOLLOWER
