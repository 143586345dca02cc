"""Which partitions are fetched from whom, over which connection, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kcompat.replication.following.fetcher import FIRST_BACKOFF_MS
from kcompat.replication.following.fetcher_manager import FetcherManager
from support.default_settings import fetcher_manager_settings

from ..conftest import ME

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.message import Message
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from support.virtual_clock import VirtualClock

    MakePartition = Callable[..., Partition]

LEADER, OTHER = 2, 3


class Connection:
    """Keeps what it is asked, until the test says what is answered."""

    def __init__(self) -> None:
        self.version = 17
        self.asked: list[tuple[Message, Promise[Message]]] = []
        self.is_closed = False

    def ask(self, key: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:
        assert timeout_ms == 30_000
        request = make(self.version)
        assert key == request.api_key
        list(request.encode(self.version if key == ApiKey.FETCH else 4))
        assert not self.is_closed, "it was given up"
        promise: Promise[Message] = Promise()
        self.asked.append((request, promise))
        return promise

    def disconnect(self) -> None:
        self.is_closed = True

    def partitions(self) -> list[tuple[str, int]]:
        """Return the partitions in the latest fetch."""
        request = self.asked[-1][0]
        assert isinstance(request, FetchRequest)
        return [(topic.topic, row.partition) for topic in request.topics for row in topic.partitions]

    def answer(self) -> None:
        """That there is nothing new."""
        promise = self.asked[-1][1]
        promise.complete(FetchResponse(session_id=7))


class Fixture:
    def __init__(self, clock: VirtualClock, replicas: ReplicaManager) -> None:
        self.connections: dict[tuple[int, int], list[Connection]] = {}
        self.clock = clock
        self.fetching = FetcherManager(ME, lambda: 5, self.connect, clock, fetcher_manager_settings())
        replicas.add_fetcher(self.fetching)

    def connect(self, leader: int, number: int) -> Connection:
        """The one there is, or another after that was given up."""
        made = self.connections.setdefault((leader, number), [])
        if not made or made[-1].is_closed:
            made.append(Connection())
        return made[-1]

    def to(self, leader: int, number: int = 0) -> Connection:
        """The newest connection to a leader."""
        return self.connections[leader, number][-1]


@pytest.fixture
def fixture(clock: VirtualClock, replicas: ReplicaManager) -> Fixture:
    return Fixture(clock, replicas)


def following(leader: int, epoch: int = 0) -> Role:
    return Role(leader=leader, leader_epoch=epoch, isr=(leader,), replicas=(ME, LEADER, OTHER))


def test_what_one_event_brings_goes_in_one_fetch(fixture: Fixture, make_partition: MakePartition) -> None:
    for index in range(3):
        make_partition(index=index, role=following(LEADER))
    make_partition("u", role=following(OTHER))
    make_partition("mine", role=Role(ME, 0, (ME,), (ME, LEADER)))
    make_partition("nobodys", role=Role(-1, 0, (LEADER,), (ME, LEADER)))
    fixture.clock.advance(0)
    assert fixture.to(LEADER).partitions() == [("t", 0), ("t", 1), ("t", 2)]
    assert fixture.to(OTHER).partitions() == [("u", 0)]
    assert fixture.connections.keys() == {(LEADER, 0), (OTHER, 0)}


def test_one_fetch_follows_the_other(fixture: Fixture, make_partition: MakePartition) -> None:
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    connection = fixture.to(LEADER)
    for count in range(1, 4):
        assert len(connection.asked) == count
        connection.answer()
    assert fixture.fetching.lag("t", 0) == -1
    assert fixture.fetching.lag("t", 1) is None


def test_a_new_leader_is_followed_at_once_and_the_old_one_let_go(
    fixture: Fixture, make_partition: MakePartition, replicas: ReplicaManager
) -> None:
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    replicas.take_role("t", 0, following(OTHER, epoch=1))
    fixture.clock.advance(0)
    assert fixture.to(LEADER).is_closed
    request = fixture.to(OTHER).asked[0][0]
    assert isinstance(request, FetchRequest)
    assert request.topics[0].partitions[0].current_leader_epoch == 1
    fixture.to(LEADER).answer()
    assert len(fixture.to(LEADER).asked) == 1, "its answer is nothing to anybody"


@pytest.mark.parametrize("change", ["lead", "stop", "remove"])
def test_who_leads_or_leaves_follows_nobody(
    fixture: Fixture, make_partition: MakePartition, replicas: ReplicaManager, change: str
) -> None:
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    if change == "lead":
        replicas.take_role("t", 0, Role(ME, 1, (ME,), (ME, LEADER)))
    elif change == "stop":
        replicas.stop("t", 0)
    else:
        replicas.remove("t", 0)
    fixture.clock.advance(0)
    assert fixture.to(LEADER).is_closed
    assert fixture.fetching.lag("t", 0) is None


def test_another_epoch_of_the_same_leader_keeps_the_connection(
    fixture: Fixture, make_partition: MakePartition, replicas: ReplicaManager
) -> None:
    """And is followed anew: an epoch that was missed may hide that the logs part (KAFKA-7164)."""
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    replicas.take_role("t", 0, following(LEADER, epoch=1))
    fixture.clock.advance(0)
    connection = fixture.to(LEADER)
    assert not connection.is_closed
    connection.asked[0][1].complete(FetchResponse(session_id=7))
    request = connection.asked[-1][0]
    assert isinstance(request, FetchRequest)
    assert request.topics[0].partitions[0].current_leader_epoch == 1


def test_a_long_poll_is_ended_for_who_comes_later(fixture: Fixture, make_partition: MakePartition) -> None:
    """By a request that a leader answers at once; once is enough."""
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    connection = fixture.to(LEADER)
    make_partition("u", role=following(LEADER))
    make_partition("v", role=following(LEADER))
    fixture.clock.advance(0)
    make_partition("w", role=following(LEADER))
    fixture.clock.advance(0)
    (_, polled), (end, ended) = connection.asked
    assert isinstance(end, OffsetForLeaderEpochRequest)
    polled.complete(FetchResponse(session_id=7))
    assert sorted(connection.partitions()) == [("u", 0), ("v", 0), ("w", 0)]
    ended.complete(OffsetForLeaderEpochResponse())
    make_partition("x", role=following(LEADER))
    fixture.clock.advance(0)
    assert isinstance(connection.asked[-1][0], OffsetForLeaderEpochRequest)


def test_what_fails_is_asked_again_after_a_pause(fixture: Fixture, make_partition: MakePartition) -> None:
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    connection = fixture.to(LEADER)
    connection.asked[0][1].fail(OSError("gone"))
    fixture.clock.advance(FIRST_BACKOFF_MS - 1)
    assert len(connection.asked) == 1
    fixture.clock.advance(1)
    assert connection.partitions() == [("t", 0)]


def test_the_same_partition_is_always_of_the_same_fetcher(
    fixture: Fixture, make_partition: MakePartition
) -> None:
    for index in range(4):
        make_partition(index=index, role=following(LEADER))
    fixture.clock.advance(0)
    fixture.fetching.configure(replace(fetcher_manager_settings(), fetchers=2))
    fixture.clock.advance(0)
    named = [sorted(fixture.to(LEADER, number).partitions()) for number in range(2)]
    assert sorted(map(len, named)) == [2, 2]
    assert sorted(named[0] + named[1]) == [("t", index) for index in range(4)]
    count = len(fixture.connections[LEADER, 0])
    fixture.fetching.configure(replace(fetcher_manager_settings(), fetchers=2))
    fixture.clock.advance(0)
    assert len(fixture.connections[LEADER, 0]) == count, "nothing has changed"


def test_after_the_end_nothing_is_asked(fixture: Fixture, make_partition: MakePartition) -> None:
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    fixture.fetching.close()
    connection = fixture.connections[LEADER, 0][0]
    assert connection.is_closed
    connection.asked[0][1].fail(OSError("closed"))
    fixture.clock.advance(10_000)
    assert len(connection.asked) == 1
    assert fixture.clock.pending == 0


@pytest.mark.parametrize("version", [12, 14, 15, 17])
def test_who_follows_is_said_as_the_version_says_it(
    fixture: Fixture, make_partition: MakePartition, version: int
) -> None:
    fixture.connect(LEADER, 0).version = version
    make_partition(role=following(LEADER))
    fixture.clock.advance(0)
    request = fixture.to(LEADER).asked[0][0]
    assert isinstance(request, FetchRequest)
    named = (request.replica_id, request.replica_state.replica_id)
    assert named == ((ME, -1) if version < 15 else (-1, ME))
