"""Markers are written until all are, whoever leads by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.markers import RETRY_MS
from kcompat.transaction.requests import EndRequest
from support.transaction_world import NAME, PARTITIONS, A, B

if TYPE_CHECKING:
    from support.transaction_world import TransactionWorld


def sent(world: TransactionWorld) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
    """To whom, and which partitions; forgotten then."""
    found = [(broker, marker.partitions) for broker, marker in world.brokers.written]
    world.brokers.written.clear()
    return found


def test_each_leader_is_sent_its_own_in_one_request(world: TransactionWorld) -> None:
    world.brokers.leaders = {A: 2, B: 3}
    producer = world.begin()
    world.brokers.hold()
    world.end(producer)
    assert world.brokers.held == 2
    world.brokers.release()
    assert sent(world) == [(2, (A,)), (3, (B,))]
    assert world.state == "CompleteCommit"


def test_a_broker_is_given_one_request_at_a_time_and_all_that_waits_in_the_next(
    world: TransactionWorld,
) -> None:
    names = ["a", "b", "c"]
    producers = {name: world.init(name=name).producer for name in names}
    world.brokers.hold()
    for name, producer in producers.items():
        world.add(producer, A, name=name)
        world.coordinator.end(EndRequest(name, producer, commits=True))
        world.clock.advance()
    assert world.brokers.held == 1
    world.brokers.release()
    assert [marker.producer for _, marker in world.brokers.written] == list(producers.values())
    assert [world.state_of(name) for name in names] == ["CompleteCommit"] * 3


def test_who_ends_a_transaction_is_answered_before_its_markers_set_out(world: TransactionWorld) -> None:
    assert world.ask_end(world.begin()).value.error == ErrorCode.NONE
    assert sent(world) == []
    world.clock.advance()
    assert sent(world) == [(1, (A, B))]


def test_the_markers_of_all_that_ends_in_one_turn_go_together(world: TransactionWorld) -> None:
    names = ["a", "b"]
    producers = {name: world.init(name=name).producer for name in names}
    for name, producer in producers.items():
        world.add(producer, A, name=name)
    world.brokers.hold()
    for name, producer in producers.items():
        world.coordinator.end(EndRequest(name, producer, commits=True))
    world.clock.advance()
    assert world.brokers.held == 1
    world.brokers.release()
    assert [marker.producer for _, marker in world.brokers.written] == list(producers.values())


def test_who_asks_for_an_id_whose_markers_have_not_set_out_does_not_wait_for_them(
    world: TransactionWorld,
) -> None:
    producer = world.begin()
    assert world.ask_end(producer).value.error == ErrorCode.NONE
    added = world.coordinator.add_partitions(NAME, producer, [A], 0)
    assert (added.value, sent(world)) == (ErrorCode.NONE, [(1, (A, B))])


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
def test_what_was_not_written_goes_to_whoever_leads_later(world: TransactionWorld, error: ErrorCode) -> None:
    world.brokers.errors = {B: error}
    world.end(world.begin())
    assert sent(world) == [(1, (A, B))]
    assert world.state == "PrepareCommit"
    world.brokers.leaders = {B: 3}
    world.clock.advance(RETRY_MS)
    assert sent(world) == [(3, (B,))]
    world.brokers.errors.clear()
    world.clock.advance(RETRY_MS)
    assert world.state == "CompleteCommit"


@pytest.mark.parametrize("error", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_log_that_can_have_no_marker_needs_none(world: TransactionWorld, error: ErrorCode) -> None:
    world.brokers.errors = {B: error}
    world.end(world.begin())
    assert world.state == "CompleteCommit"


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_coordinator_that_is_superseded_writes_no_more(world: TransactionWorld, error: ErrorCode) -> None:
    world.brokers.errors = {B: error}
    world.end(world.begin())
    world.brokers.errors.clear()
    world.clock.advance(10 * RETRY_MS)
    assert len(sent(world)) == 1
    assert world.state == "PrepareCommit"


def test_a_partition_that_nobody_leads_is_waited_for_and_a_deleted_one_dropped(
    world: TransactionWorld,
) -> None:
    world.brokers.leaders = {A: None, B: -1}
    world.end(world.begin())
    world.clock.advance(5 * RETRY_MS)
    assert sent(world) == []
    assert world.state == "PrepareCommit"
    world.brokers.leaders[B] = 2
    world.clock.advance(RETRY_MS)
    assert sent(world) == [(2, (B,))]
    assert world.state == "CompleteCommit"


def test_a_broker_that_cannot_be_reached_is_asked_again(world: TransactionWorld) -> None:
    world.brokers.is_reachable = False
    world.end(world.begin())
    world.clock.advance(3 * RETRY_MS)
    assert world.state == "PrepareCommit"
    world.brokers.is_reachable = True
    world.clock.advance(RETRY_MS)
    assert world.state == "CompleteCommit"


def test_a_new_coordinator_writes_them_all_again_in_its_own_epoch(world: TransactionWorld) -> None:
    world.brokers.hold()
    world.end(world.begin(), commits=False)
    world.restart()
    world.brokers.release()
    assert {marker.coordinator_epoch for _, marker in world.brokers.written} == {1, 2}
    assert world.state == "CompleteAbort"
    assert len(world.markers) == 0


@pytest.mark.parametrize("shown", [0, 10 * PARTITIONS])
def test_a_coordinator_that_does_not_know_yet_how_many_partitions_there_are_goes_on_with_its_own(
    world: TransactionWorld, shown: int
) -> None:
    world.brokers.hold()
    world.end(world.begin())
    world.partition_count = shown
    world.restart()
    world.brokers.release()
    assert {marker.coordinator_epoch for _, marker in world.brokers.written} == {1, 2}
    assert world.state == "CompleteCommit"


def test_while_nobody_knows_how_many_partitions_there_are_no_id_is_coordinated(
    world: TransactionWorld,
) -> None:
    producer = world.begin()
    world.partition_count = 0
    assert world.init().error == ErrorCode.NOT_COORDINATOR
    assert world.end(producer).error == ErrorCode.NOT_COORDINATOR
    assert world.state == "Ongoing"


def test_what_another_coordinates_now_is_written_no_more(world: TransactionWorld) -> None:
    world.brokers.errors = {A: ErrorCode.NOT_ENOUGH_REPLICAS}
    world.end(world.begin())
    assert len(sent(world)) == 1
    world.coordinator.unload(world.coordinator.partition_of(NAME), 2)
    world.clock.advance(10 * RETRY_MS)
    assert sent(world) == []


def test_who_coordinates_on_in_a_higher_epoch_goes_on_with_them(world: TransactionWorld) -> None:
    world.brokers.hold()
    world.end(world.begin())
    world.coordinator.load(world.coordinator.partition_of(NAME), 2)
    world.brokers.release()
    assert world.state == "CompleteCommit"


def test_news_of_former_epochs_stop_nothing(world: TransactionWorld) -> None:
    world.restart()
    world.brokers.hold()
    world.end(world.begin())
    world.coordinator.unload(world.coordinator.partition_of(NAME), 1)
    world.brokers.release()
    assert world.state == "CompleteCommit"


def test_an_end_that_is_committed_late_has_its_markers_all_the_same(world: TransactionWorld) -> None:
    producer = world.begin()
    world.log.hold()
    asked = world.ask_end(producer)
    world.clock.advance(world.config.commit_timeout_ms)
    assert asked.value.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sent(world) == []
    world.log.release()
    assert world.state == "CompleteCommit"
