"""Cached answers for followers and consumers: used while nothing changes, dropped with any change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo
from kcompat.log.append import UNVERIFIED
from kcompat.log.errors import StorageError
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.replication.isr import Pending, PendingExpand
from kcompat.replication.leading.leader import Leader
from kcompat.replication.reading import READ_COMMITTED, READ_UNCOMMITTED, Fetched, FetchSpec, PartitionReader
from kcompat.replication.waiting.delayed_fetch import DelayedFetch
from kcompat.replication.waiting.fetch_session import FetchTarget
from support.log_harness import make_batch
from support.virtual_clock import VirtualClock

from ..conftest import ME, append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.replication.leading.remote_replica import RemoteReplica
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager

    MakePartition = Callable[..., Partition]

OTHER = 2
LIFE, LATER_LIFE = 5, 6
ELECTED_MS = VirtualClock().now_ms()
BOTH = Role(leader=ME, leader_epoch=0, isr=(ME, OTHER), replicas=(ME, OTHER))


class Session:
    """A follower that asks again and again for one partition, where it has all there is."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.target = FetchTarget("t", 0, FetchSpec(0, 10_000, 0, -1, 0))

    def fetch(self, after_ms: int, life: int = LIFE) -> Fetched:
        """Ask, as the handler does, so long after the election."""
        reader = PartitionReader(replica_id=OTHER, broker_epoch=life)
        fetch = DelayedFetch([(self.target, self.partition)], reader, min_bytes=1, max_bytes=10_000)
        results = fetch.read()
        fetch.note(results, ELECTED_MS + after_ms)
        return results[0][1]

    def goes_on(self) -> None:
        """Have the follower fetch from the log end, which tells the leader that it has everything."""
        log = self.partition.log
        self.target.spec = FetchSpec(log.log_end_offset, 10_000, 0, log.epochs.latest, log.log_start_offset)

    @property
    def remote(self) -> RemoteReplica:
        """Return the leader's knowledge of the follower."""
        state = self.partition.state
        assert isinstance(state, Leader)
        return state.remotes[OTHER]


@pytest.fixture
def session(make_partition: MakePartition) -> Session:
    session = Session(make_partition(role=BOTH))
    append(session.partition, b"a")
    session.goes_on()
    session.fetch(100)
    session.fetch(200)
    return session


def test_the_same_is_found_and_the_follower_is_known_to_have_asked(session: Session) -> None:
    found = session.fetch(300)
    assert session.fetch(400) is found
    assert found == Fetched(ErrorCode.NONE, high_watermark=1, last_stable_offset=1, log_start_offset=0)
    assert session.remote.last_fetch_ms == session.remote.last_caught_up_ms == ELECTED_MS + 400


def test_what_is_appended_is_found(session: Session) -> None:
    append(session.partition, b"b")
    assert len(session.fetch(300).records) > 0
    session.goes_on()
    assert session.fetch(400).records == b""
    assert session.partition.high_watermark == 2
    assert session.fetch(500).high_watermark == 2


def test_a_log_start_that_moves_is_found(session: Session) -> None:
    session.partition.delete_records_before(1)
    assert session.fetch(300).log_start_offset == 1


def test_an_election_is_found(session: Session, replicas: ReplicaManager) -> None:
    replicas.take_role("t", 0, Role(leader=ME, leader_epoch=1, isr=(ME, OTHER), replicas=(ME, OTHER)))
    assert session.fetch(300).error == ErrorCode.FENCED_LEADER_EPOCH


def test_a_partition_that_leaves_is_found(session: Session) -> None:
    session.partition.retire()
    assert session.fetch(300).error != ErrorCode.NONE


def test_a_failed_disk_is_found(session: Session) -> None:
    context = session.partition.log.context
    context.offline = StorageError(context.path, "it failed")
    assert session.fetch(300).error == ErrorCode.KAFKA_STORAGE_ERROR


def test_who_left_the_isr_meanwhile_is_let_in_again(
    session: Session, replicas: ReplicaManager, cluster: MetadataCache
) -> None:
    cluster.image = replace(cluster.image, brokers={OTHER: BrokerInfo(OTHER, None, {})})
    proposed: list[Pending] = []
    replicas.propose_to(lambda _, pending: proposed.append(pending))
    append(session.partition, b"b")
    session.partition.shrink_isr(ELECTED_MS + 1_000_000)
    (shrink,) = proposed
    session.goes_on()
    session.fetch(1_000_001)
    session.fetch(1_000_002)
    session.partition.isr_accepted(shrink, 0, 1, (ME,))
    session.fetch(1_000_003)
    assert isinstance(proposed[-1], PendingExpand)


def test_another_life_of_the_follower_is_noted_and_its_former_one_refused(session: Session) -> None:
    assert session.fetch(300, LATER_LIFE).error == ErrorCode.NONE
    assert session.remote.broker_epoch == LATER_LIFE
    assert session.fetch(400, LIFE).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


# -- consumers -----------------------------------------------------------------------------------------------


class ConsumerSession:
    """A consumer that asks again and again for one partition, from `offset` on."""

    def __init__(self, partition: Partition, offset: int) -> None:
        self.partition = partition
        self.target = FetchTarget("t", 0, FetchSpec(offset, 10_000, 0))

    def fetch(self, isolation_level: int = READ_UNCOMMITTED, **fields: Any) -> Fetched:
        """Ask, as the handler does."""
        reader = PartitionReader(isolation_level, **fields)
        fetch = DelayedFetch([(self.target, self.partition)], reader, min_bytes=1, max_bytes=10_000)
        return fetch.read()[0][1]


@pytest.fixture
def consumer(make_partition: MakePartition) -> ConsumerSession:
    partition = make_partition()
    append(partition, b"a")
    return ConsumerSession(partition, 1)


def begin_transaction(partition: Partition) -> None:
    batch = memoryview(make_batch(producer_id=5, producer_epoch=0, base_sequence=0, transactional=True))
    partition.append(batch, read_header(batch), 1, 5000, UNVERIFIED)


def end_transaction(partition: Partition) -> None:
    marker = EndTransactionMarker(ControlType.ABORT, 0)
    batch = memoryview(build_marker(marker, producer_id=5, producer_epoch=0, timestamp=1, leader_epoch=0))
    partition.append(batch, read_header(batch), 1, 5000, UNVERIFIED)


def test_a_consumer_finds_the_same(consumer: ConsumerSession) -> None:
    found = consumer.fetch()
    assert consumer.fetch() is found
    assert found == Fetched(ErrorCode.NONE, high_watermark=1, last_stable_offset=1, log_start_offset=0)


def test_a_consumer_finds_what_is_appended(consumer: ConsumerSession) -> None:
    consumer.fetch()
    append(consumer.partition, b"b")
    assert len(consumer.fetch().records) > 0
    assert len(consumer.fetch().records) > 0, "time and again"


def test_a_consumer_finds_what_is_committed_once_it_is(consumer: ConsumerSession) -> None:
    begin_transaction(consumer.partition)
    found = consumer.fetch(READ_COMMITTED)
    assert (found.records, found.last_stable_offset, found.high_watermark) == (b"", 1, 2)
    assert consumer.fetch(READ_COMMITTED) is found
    assert len(consumer.fetch(READ_UNCOMMITTED).records) > 0, "the same session may read that"
    assert consumer.fetch(READ_COMMITTED).records == b""
    end_transaction(consumer.partition)
    found = consumer.fetch(READ_COMMITTED)
    assert len(found.records) > 0
    assert (found.aborted, found.last_stable_offset) == ([(5, 1)], 3)


def test_records_for_which_there_was_no_room_are_found_later(consumer: ConsumerSession) -> None:
    append(consumer.partition, b"b")
    full = DelayedFetch(
        [(consumer.target, consumer.partition)], PartitionReader(), min_bytes=1, max_bytes=0, hard_limit=True
    )
    assert full.read()[0][1].records == b""
    assert len(consumer.fetch().records) > 0


def test_a_consumer_finds_a_log_start_that_moves(consumer: ConsumerSession) -> None:
    consumer.fetch()
    consumer.partition.delete_records_before(1)
    assert consumer.fetch().log_start_offset == 1


def test_a_consumer_finds_an_election(consumer: ConsumerSession, replicas: ReplicaManager) -> None:
    consumer.fetch()
    replicas.take_role("t", 0, Role(leader=ME, leader_epoch=1, isr=(ME,), replicas=(ME,)))
    assert consumer.fetch().error == ErrorCode.FENCED_LEADER_EPOCH


def test_a_consumer_finds_that_a_partition_leaves(consumer: ConsumerSession) -> None:
    consumer.fetch()
    consumer.partition.retire()
    assert consumer.fetch().error != ErrorCode.NONE


def test_a_consumer_finds_a_failed_disk(consumer: ConsumerSession) -> None:
    consumer.fetch()
    context = consumer.partition.log.context
    context.offline = StorageError(context.path, "it failed")
    assert consumer.fetch().error == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_consumer_is_sent_to_another_replica_once_it_names_its_rack(consumer: ConsumerSession) -> None:
    consumer.fetch()

    class Nearer:
        def choose(self, leader: Leader, offset: int) -> int:
            return OTHER

    assert consumer.fetch(choice=Nearer()).preferred_replica == OTHER
