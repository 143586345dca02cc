"""Answers and records of the share coordinator, check by check in Kafka's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch
from kcompat.share.coordinator.shard import ShareCoordinatorConfig
from kcompat.share.persister import UNINITIALIZED_SUMMARY, Outcome, StateRead, StateSummary, StateWrite
from support.default_settings import with_defaults
from support.share_coordinators import KEY, TOPIC, TOPIC_PARTITIONS, ShareCoordinatorFixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.promise import Promise
    from kcompat.share.coordinator.coordinator import ShareCoordinator
    from kcompat.share.key import SharePartitionKey

    Answer: TypeAlias = Promise[Outcome] | Promise[StateRead] | Promise[StateSummary]

ACKNOWLEDGED = 2
DELIVERED = StateBatch(5, 9, ACKNOWLEDGED, 1)
ANSWERED = (ErrorCode.NONE, None)


@pytest.fixture
def fixture() -> ShareCoordinatorFixture:
    return ShareCoordinatorFixture()


def initialize(fixture: ShareCoordinatorFixture, state_epoch: int = 0, start_offset: int = 0) -> Outcome:
    return fixture.coordinator.initialize(KEY, state_epoch, start_offset).value


def read(fixture: ShareCoordinatorFixture, leader_epoch: int = 0) -> StateRead:
    return fixture.coordinator.read(KEY, leader_epoch).value


def summary(fixture: ShareCoordinatorFixture) -> StateSummary:
    return fixture.coordinator.summary(KEY, 0).value


QUESTIONS: dict[str, Callable[[ShareCoordinator, SharePartitionKey], Answer]] = {
    "initialize": lambda coordinator, key: coordinator.initialize(key, 0, 0),
    "read": lambda coordinator, key: coordinator.read(key, 0),
    "write": lambda coordinator, key: coordinator.write(key, StateWrite(0, 0, 0, 0, ())),
    "delete": lambda coordinator, key: coordinator.delete(key),
    "summary": lambda coordinator, key: coordinator.summary(key, 0),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_negative_partition_is_refused(fixture: ShareCoordinatorFixture, question: str) -> None:
    answer = QUESTIONS[question](fixture.coordinator, KEY._replace(partition=-1)).value
    assert answer[:2] == (ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "key", [KEY._replace(partition=TOPIC_PARTITIONS), KEY._replace(topic_id=b"\7" * 16)], ids=["index", "id"]
)
def test_a_partition_that_is_not_there_is_refused(
    fixture: ShareCoordinatorFixture, question: str, key: SharePartitionKey
) -> None:
    fixture.topics[key.topic_id] = TOPIC_PARTITIONS + 1
    assert fixture.coordinator.initialize(key, 0, 0).value == ANSWERED
    fixture.topics = {TOPIC: TOPIC_PARTITIONS}
    answer = QUESTIONS[question](fixture.coordinator, key).value
    assert answer[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_nobody_initialised_is_neither_read_nor_written(fixture: ShareCoordinatorFixture) -> None:
    assert read(fixture).message == "Read operation on uninitialized share partition not allowed."
    assert read(fixture).error == fixture.write() == ErrorCode.INVALID_REQUEST
    assert summary(fixture) == UNINITIALIZED_SUMMARY
    assert fixture.coordinator.delete(KEY).value == ANSWERED
    assert fixture.log.batch_count(0) == 0


@pytest.mark.parametrize(("start_offset", "counted"), [(-1, -1), (0, 0), (7, 0)])
def test_an_initialised_partition_starts_there(
    fixture: ShareCoordinatorFixture, start_offset: int, counted: int
) -> None:
    assert initialize(fixture, 3, start_offset) == ANSWERED
    assert read(fixture) == StateRead(state_epoch=3, start_offset=start_offset)
    assert summary(fixture) == StateSummary(
        state_epoch=3, leader_epoch=0, start_offset=start_offset, delivery_complete_count=counted
    )


def test_initialisation_forgets_what_was_delivered(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    fixture.write(DELIVERED)
    assert initialize(fixture, 1, 20) == ANSWERED
    assert read(fixture) == StateRead(state_epoch=1, start_offset=20)
    assert fixture.states()[KEY].snapshot_epoch == 1


def test_what_has_begun_does_not_begin_again_when_somebody_asks_twice(
    fixture: ShareCoordinatorFixture,
) -> None:
    initialize(fixture, 3, -1)
    fixture.write(DELIVERED, state_epoch=3)
    known, written = fixture.states()[KEY], fixture.log.batch_count(0)
    assert initialize(fixture, 3, -1) == ANSWERED
    assert (fixture.states()[KEY], fixture.log.batch_count(0)) == (known, written)
    assert initialize(fixture, 4, -1) == ANSWERED
    assert read(fixture) == StateRead(state_epoch=4, start_offset=-1)


@pytest.mark.parametrize(
    ("state_epoch", "error"),
    [(2, ErrorCode.FENCED_STATE_EPOCH), (3, ErrorCode.NONE), (4, ErrorCode.NONE), (-1, ErrorCode.NONE)],
)
def test_state_epochs_fence(fixture: ShareCoordinatorFixture, state_epoch: int, error: ErrorCode) -> None:
    initialize(fixture, 3)
    assert fixture.write(DELIVERED, state_epoch=state_epoch) == error
    assert initialize(fixture, state_epoch).error == error


@pytest.mark.parametrize(
    ("leader_epoch", "error"),
    [(4, ErrorCode.FENCED_LEADER_EPOCH), (5, ErrorCode.NONE), (6, ErrorCode.NONE), (-1, ErrorCode.NONE)],
)
def test_leader_epochs_fence_writes(
    fixture: ShareCoordinatorFixture, leader_epoch: int, error: ErrorCode
) -> None:
    initialize(fixture)
    assert read(fixture, 5).error == ErrorCode.NONE
    assert fixture.write(DELIVERED, leader_epoch=leader_epoch) == error


@pytest.mark.parametrize(
    ("leader_epoch", "error"),
    [(4, ErrorCode.FENCED_LEADER_EPOCH), (-1, ErrorCode.FENCED_LEADER_EPOCH), (5, ErrorCode.NONE)],
)
def test_leader_epochs_fence_reads(
    fixture: ShareCoordinatorFixture, leader_epoch: int, error: ErrorCode
) -> None:
    initialize(fixture)
    read(fixture, 5)
    assert read(fixture, leader_epoch).error == error


def test_a_fence_outlives_initialisation(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    read(fixture, 5)
    initialize(fixture, 1)
    assert summary(fixture).leader_epoch == 0
    assert fixture.write(DELIVERED, state_epoch=1, leader_epoch=4) == ErrorCode.FENCED_LEADER_EPOCH


def test_the_leader_epoch_is_checked_before_the_state_epoch(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture, 3)
    read(fixture, 5)
    assert fixture.write(state_epoch=2, leader_epoch=4) == ErrorCode.FENCED_LEADER_EPOCH


def test_a_read_by_a_new_leader_is_written_and_by_the_same_is_not(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    fixture.write(DELIVERED, start_offset=5, delivery_complete_count=5)
    before = fixture.log.batch_count(0)
    for _ in range(2):
        assert read(fixture, 5) == StateRead(state_epoch=0, start_offset=5, batches=(DELIVERED,))
    assert fixture.log.batch_count(0) == before + 1
    assert summary(fixture) == StateSummary(leader_epoch=5, start_offset=5, delivery_complete_count=5)


def test_writes_add_up(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    fixture.write(DELIVERED, delivery_complete_count=5)
    fixture.write(StateBatch(0, 4, ACKNOWLEDGED, 1), delivery_complete_count=10)
    assert read(fixture).batches == (StateBatch(0, 9, ACKNOWLEDGED, 1),)
    fixture.write(start_offset=7, delivery_complete_count=3)
    assert read(fixture) == StateRead(start_offset=7, batches=(StateBatch(7, 9, ACKNOWLEDGED, 1),))
    fixture.write(start_offset=-1)
    assert read(fixture).start_offset == 7


@pytest.mark.parametrize("updates_per_snapshot", [0, 500])
def test_a_late_write_does_not_take_the_start_back(updates_per_snapshot: int) -> None:
    fixture = ShareCoordinatorFixture(
        with_defaults(ShareCoordinatorConfig, updates_per_snapshot=updates_per_snapshot)
    )
    initialize(fixture)
    fixture.write(StateBatch(0, 4, ACKNOWLEDGED, 1), start_offset=12, delivery_complete_count=1)
    late = StateBatch(0, 4, ACKNOWLEDGED, 1), StateBatch(10, 14, ACKNOWLEDGED, 1)
    assert fixture.write(*late, start_offset=0, delivery_complete_count=10) == ErrorCode.NONE
    assert read(fixture) == StateRead(start_offset=12, batches=(StateBatch(12, 14, ACKNOWLEDGED, 1),))
    assert summary(fixture) == StateSummary(start_offset=12, delivery_complete_count=1)


def test_overlapping_news_are_written_as_one(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    fixture.write(DELIVERED, StateBatch(0, 6, ACKNOWLEDGED, 1))
    assert read(fixture).batches == (StateBatch(0, 9, ACKNOWLEDGED, 1),)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_after_enough_updates_comes_a_snapshot(limit: int) -> None:
    fixture = ShareCoordinatorFixture(with_defaults(ShareCoordinatorConfig, updates_per_snapshot=limit))
    initialize(fixture)
    epochs = []
    for offset in range(2 * (limit + 1)):
        fixture.write(StateBatch(offset, offset, ACKNOWLEDGED, 1), start_offset=-1)
        epochs.append(fixture.states()[KEY].snapshot_epoch)
    assert epochs == [0] * limit + [1] * (limit + 1) + [2]
    assert read(fixture) == StateRead(batches=(StateBatch(0, 2 * limit + 1, ACKNOWLEDGED, 1),))


def test_what_is_deleted_is_forgotten_with_its_epochs(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture, 3)
    read(fixture, 5)
    assert fixture.coordinator.delete(KEY).value == ANSWERED
    assert summary(fixture) == UNINITIALIZED_SUMMARY
    assert initialize(fixture, 0) == ANSWERED
    assert read(fixture, 0).error == ErrorCode.NONE


def test_readers_are_told_of_what_is_written_once_it_is_committed(fixture: ShareCoordinatorFixture) -> None:
    initialize(fixture)
    read(fixture, 1)
    fixture.log.hold()
    other = KEY._replace(partition=1)
    asked: list[Promise[Any]] = [
        fixture.coordinator.write(KEY, StateWrite(0, 1, 4, 0, (DELIVERED,))),
        fixture.coordinator.read(KEY, 1),
        fixture.coordinator.initialize(other, 0, 7),
        fixture.coordinator.read(other, 1),
        fixture.coordinator.summary(other, 0),
    ]
    assert not any(each.done for each in asked)
    fixture.log.release()
    delivered = StateRead(start_offset=4, batches=(DELIVERED,))
    *others, told = [each.value for each in asked]
    assert others == [ANSWERED, delivered, ANSWERED, StateRead(start_offset=7)]
    assert told.start_offset == 7
