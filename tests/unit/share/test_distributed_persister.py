"""Where the state of share partitions is kept: here, at another broker, or at nobody's for a while."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kcompat.cluster.image import PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch
from kcompat.share.distributed_persister import PURPOSE, TIME_MS, DistributedPersister
from kcompat.share.persister import UNINITIALIZED_SUMMARY, Outcome, StateRead, StateSummary, StateWrite
from kcompat.topics import SHARE_GROUP_STATE
from support.asking import ask, services_of
from support.share_coordinators import KEY, ShareCoordinatorFixture

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

ME, OTHER = 1, 2
BATCH = StateBatch(0, 4, 2, 1)
HANDLERS = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: initialize_share_group_state,
    ApiKey.READ_SHARE_GROUP_STATE: read_share_group_state,
    ApiKey.WRITE_SHARE_GROUP_STATE: write_share_group_state,
    ApiKey.DELETE_SHARE_GROUP_STATE: delete_share_group_state,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: read_share_group_state_summary,
}


class OtherBroker:
    """Another broker, whose share coordinator is reached through its handlers; or which cannot be reached."""

    def __init__(self) -> None:
        self.fixture = ShareCoordinatorFixture()
        self.is_reachable = True
        self.asked = 0

    def of(self, broker_id: int, purpose: str) -> OtherBroker:
        assert (broker_id, purpose) == (OTHER, PURPOSE)
        return self

    def call(self, request: Message, _timeout_ms: float) -> Promise[Any]:
        self.asked += 1
        if not self.is_reachable:
            promise: Promise[Any] = Promise()
            promise.fail(PeerError(PeerFault.UNKNOWN, "broker 2"))
            return promise
        key = ApiKey(request.api_key)
        services = services_of(share_coordinator=self.fixture.coordinator)
        answer = ask(HANDLERS[key], API_FACTS[key].latest_stable, request, services)
        return answer if isinstance(answer, Promise) else Promise.resolved(answer)


class PersisterFixture:
    """This broker, another, and the one partition of the share state topic."""

    def __init__(self) -> None:
        self.here = ShareCoordinatorFixture()
        self.clock = self.here.clock
        self.there = OtherBroker()
        self.cluster = MetadataCache("cluster")
        self.made = 0
        self.persister = DistributedPersister(
            ME, self.here.coordinator, self.there, self.cluster, self.make_topic, self.clock, Random(1)
        )

    def make_topic(self) -> Promise[None]:
        """Count how often the topic is asked for."""
        self.made += 1
        return Promise.resolved(None)

    def lead(self, leader: int) -> None:
        """Have a broker lead the partition of the topic."""
        replica = PartitionInfo(leader, 0, (ME,), (ME, OTHER))
        image = self.cluster.image
        removed = [SHARE_GROUP_STATE] if SHARE_GROUP_STATE in image.topics else []
        topic = TopicImage(SHARE_GROUP_STATE, b"s" * 16, {0: replica})
        self.cluster.update(image.with_topics([], removed).with_topics([topic]))


@pytest.fixture
def fixture() -> PersisterFixture:
    return PersisterFixture()


@pytest.mark.parametrize("leader", [ME, OTHER])
def test_all_is_asked_of_the_coordinator_of_the_key(fixture: PersisterFixture, leader: int) -> None:
    fixture.lead(leader)
    persister = fixture.persister
    assert persister.summary(KEY, -1).value == UNINITIALIZED_SUMMARY
    assert persister.initialize(KEY, 3, 0).value == Outcome()
    assert persister.read(KEY, 7).value == StateRead(state_epoch=3)
    assert persister.write(KEY, StateWrite(3, 7, 0, 5, (BATCH,))).value == Outcome()
    assert persister.read(KEY, 7).value == StateRead(state_epoch=3, batches=(BATCH,))
    assert persister.summary(KEY, -1).value == StateSummary(
        state_epoch=3, leader_epoch=7, delivery_complete_count=5
    )
    refused = persister.write(KEY, StateWrite(3, 6, 0, 5, ())).value
    assert refused == Outcome(ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH.message)
    assert persister.delete(KEY).value == Outcome()
    assert persister.read(KEY, 7).value.error == ErrorCode.INVALID_REQUEST
    assert (fixture.there.asked == 0) == (leader == ME)


def test_a_topic_that_is_missing_is_made(fixture: PersisterFixture) -> None:
    asked = fixture.persister.initialize(KEY, 0, 0)
    assert (asked.done, fixture.made) == (False, 1)
    fixture.lead(ME)
    fixture.clock.advance(1000)
    assert asked.value == Outcome()


def test_a_coordinator_is_waited_for(fixture: PersisterFixture) -> None:
    fixture.lead(NO_LEADER)
    asked = fixture.persister.initialize(KEY, 0, 0)
    fixture.clock.advance(1000)
    fixture.lead(OTHER)
    fixture.there.is_reachable = False
    fixture.clock.advance(5000)
    assert not asked.done
    assert fixture.there.asked > 1
    fixture.there.is_reachable = True
    fixture.clock.advance(1000)
    assert asked.value == Outcome()


def test_who_is_not_the_coordinator_any_more_is_not_believed(fixture: PersisterFixture) -> None:
    fixture.lead(ME)
    fixture.here.coordinator.unload(0, 9)
    asked = fixture.persister.initialize(KEY, 0, 0)
    fixture.clock.advance(1000)
    fixture.lead(OTHER)
    fixture.clock.advance(1000)
    assert asked.value == Outcome()
    assert fixture.there.fixture.states().keys() == {KEY}


@pytest.mark.parametrize("leader", [None, NO_LEADER, ME, OTHER])
def test_a_coordinator_is_not_waited_for_without_end(fixture: PersisterFixture, leader: int | None) -> None:
    if leader is not None:
        fixture.lead(leader)
    fixture.here.coordinator.unload(0, 9)
    fixture.there.is_reachable = False
    asked = fixture.persister.read(KEY, 0)
    fixture.clock.advance(TIME_MS)
    expected = ErrorCode.NOT_COORDINATOR if leader == ME else ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert asked.value.error == expected


def test_other_errors_are_told_at_once(fixture: PersisterFixture) -> None:
    fixture.lead(OTHER)
    fixture.there.fixture.topics = {}
    assert fixture.persister.initialize(KEY, 0, 0).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fixture.there.asked == 1


@pytest.mark.parametrize("leader", [None, NO_LEADER, ME, OTHER])
def test_nobody_is_asked_by_a_broker_that_has_stopped(fixture: PersisterFixture, leader: int | None) -> None:
    if leader is not None:
        fixture.lead(leader)
    fixture.here.coordinator.unload(0, 9)
    fixture.there.is_reachable = False
    asked = [fixture.persister.read(KEY, 0)]
    fixture.persister.close()
    fixture.lead(OTHER)
    asked.append(fixture.persister.read(KEY, 0))
    so_far = fixture.there.asked
    fixture.clock.advance(2 * TIME_MS)
    assert (fixture.there.asked, fixture.made) == (so_far, int(leader is None))
    assert not any(each.done for each in asked)
