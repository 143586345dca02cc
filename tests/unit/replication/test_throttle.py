"""A limit on replicas that lag behind: how much goes by, and who is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.replication.following.fetcher import HOLD_MS
from kcompat.replication.following.follower_partition import FollowerPartition
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.throttle import ReplicationThrottle, names
from support.follower_pair import asked, one
from support.replica_logs import batch_of

from .conftest import ME, append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from support.virtual_clock import VirtualClock

    MakePartition = Callable[..., Partition]

FOLLOWER = 2
NOW = 1_000_000


def throttle(limit: int = 100, samples: int = 3) -> ReplicationThrottle:
    made = ReplicationThrottle()
    made.configure(limit, samples, 1000)
    return made


def test_there_is_no_limit_before_one_is_set() -> None:
    made = ReplicationThrottle()
    made.record(1 << 40, NOW)
    assert not made.is_exceeded(NOW)


def test_the_first_sample_counts_as_a_whole_one() -> None:
    made = throttle()
    assert not made.is_exceeded(NOW)
    made.record(100, NOW)
    assert not made.is_exceeded(NOW)
    made.record(1, NOW)
    assert made.is_exceeded(NOW)
    assert not made.is_exceeded(NOW + 1010), "as time goes by it is less a second"


def test_what_is_older_than_the_window_is_forgotten() -> None:
    made = throttle()
    made.record(10_000, NOW)
    assert made.is_exceeded(NOW + 2999)
    assert not made.is_exceeded(NOW + 3000)


def test_a_limit_of_nothing_lets_nothing_by_once_something_has() -> None:
    made = throttle(limit=0)
    made.record(1, NOW)
    assert made.is_exceeded(NOW)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [(["*"], True), (["0:1"], True), (["0:2", "0:1"], True), (["0:2", "1:1"], False), ([], False)],
)
def test_which_replicas_are_named(replicas: list[str], expected: bool) -> None:
    assert names(replicas, 0, 1) is expected


@pytest.fixture
def leading(make_partition: MakePartition, replicas: ReplicaManager) -> Partition:
    """Throttled, and a byte over the limit."""
    role = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME, FOLLOWER))
    partition = make_partition(role=role, leader_replication_throttled_replicas=f"0:{ME}")
    replicas.throttle(leader_rate=100, follower_rate=100, samples=11, sample_ms=1000)
    append(partition, b"x")
    assert partition.throttled.leader is not None
    assert partition.throttled.follower is None
    partition.throttled.leader.record(101, replicas_now(replicas))
    return partition


def replicas_now(replicas: ReplicaManager) -> int:
    return replicas._clock.now_ms()


def bytes_for(partition: Partition, replica: int) -> int:
    return len(partition.fetch(FetchSpec(0, 1000), PartitionReader(replica_id=replica), 1000, True).records)


def test_a_follower_that_lags_is_sent_nothing_until_there_is_room(
    leading: Partition, clock: VirtualClock
) -> None:
    assert bytes_for(leading, FOLLOWER) == 0
    clock.advance(2000)
    assert bytes_for(leading, FOLLOWER) > 0


def test_a_follower_that_is_in_sync_is_served_all_the_same(
    leading: Partition, replicas: ReplicaManager
) -> None:
    role = Role(leader=ME, leader_epoch=1, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    replicas.take_role("t", 0, role)
    assert bytes_for(leading, FOLLOWER) > 0


def test_a_changed_list_of_the_topic_is_obeyed(leading: Partition, replicas: ReplicaManager) -> None:
    replicas.configure("t", topic_config(BrokerConfig(), {}))
    assert bytes_for(leading, FOLLOWER) > 0


def test_what_a_follower_takes_counts_and_holds_it(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    role = Role(leader=FOLLOWER, leader_epoch=0, isr=(FOLLOWER,), replicas=(ME, FOLLOWER))
    partition = make_partition(role=role, follower_replication_throttled_replicas="*")
    replicas.throttle(leader_rate=100, follower_rate=10, samples=11, sample_ms=1000)
    following = FollowerPartition(partition, clock)
    assert not following.is_held(5)
    following.append(memoryview(bytearray(batch_of(0, 0))), 0)
    assert [following.is_held(lag) for lag in (5, -1, 0)] == [True, True, False]


def test_a_fetcher_leaves_out_who_is_held_and_looks_again() -> None:
    pair = one("0", "00")
    (log,) = pair.logs
    log.holds = True
    pair.leader.logs[0].high_watermark = 5
    pair.step()
    assert log.written == "00"
    request = pair.step()
    assert isinstance(request, FetchRequest)
    assert [row.partitions for row in request.forgotten_topics_data] == [[0]]
    pair.now_ms += HOLD_MS
    assert pair.ask() is None, "still held"
    log.holds = False
    pair.now_ms += HOLD_MS
    assert asked(pair.ask()) == [(0, 2)]
