"""Markers are written until all are, whoever leads by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.markers import RETRY_MS
from kcompat.transaction.requests import EndRequest
from support.transaction_coordinators import NAME, PARTITIONS, A, B

if TYPE_CHECKING:
    from support.transaction_coordinators import TransactionFixture


def sent(fixture: TransactionFixture) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
    """To whom, and which partitions; forgotten then."""
    found = [(broker, marker.partitions) for broker, marker in fixture.brokers.written]
    fixture.brokers.written.clear()
    return found


def test_each_leader_is_sent_its_own_in_one_request(fixture: TransactionFixture) -> None:
    fixture.brokers.leaders = {A: 2, B: 3}
    producer = fixture.begin()
    fixture.brokers.hold()
    fixture.end(producer)
    assert fixture.brokers.held == 2
    fixture.brokers.release()
    assert sent(fixture) == [(2, (A,)), (3, (B,))]
    assert fixture.state == "CompleteCommit"


def test_a_broker_is_given_one_request_at_a_time_and_all_that_waits_in_the_next(
    fixture: TransactionFixture,
) -> None:
    names = ["a", "b", "c"]
    producers = {name: fixture.init(name=name).producer for name in names}
    fixture.brokers.hold()
    for name, producer in producers.items():
        fixture.add(producer, A, name=name)
        fixture.coordinator.end(EndRequest(name, producer, commits=True))
        fixture.clock.advance()
    assert fixture.brokers.held == 1
    fixture.brokers.release()
    assert [marker.producer for _, marker in fixture.brokers.written] == list(producers.values())
    assert [fixture.state_of(name) for name in names] == ["CompleteCommit"] * 3


def test_who_ends_a_transaction_is_answered_before_its_markers_set_out(fixture: TransactionFixture) -> None:
    assert fixture.ask_end(fixture.begin()).value.error == ErrorCode.NONE
    assert sent(fixture) == []
    fixture.clock.advance()
    assert sent(fixture) == [(1, (A, B))]


def test_the_markers_of_all_that_ends_in_one_iteration_go_together(fixture: TransactionFixture) -> None:
    names = ["a", "b"]
    producers = {name: fixture.init(name=name).producer for name in names}
    for name, producer in producers.items():
        fixture.add(producer, A, name=name)
    fixture.brokers.hold()
    for name, producer in producers.items():
        fixture.coordinator.end(EndRequest(name, producer, commits=True))
    fixture.clock.advance()
    assert fixture.brokers.held == 1
    fixture.brokers.release()
    assert [marker.producer for _, marker in fixture.brokers.written] == list(producers.values())


def test_who_asks_for_an_id_whose_markers_have_not_set_out_does_not_wait_for_them(
    fixture: TransactionFixture,
) -> None:
    producer = fixture.begin()
    assert fixture.ask_end(producer).value.error == ErrorCode.NONE
    added = fixture.coordinator.add_partitions(NAME, producer, [A], 0)
    assert (added.value, sent(fixture)) == (ErrorCode.NONE, [(1, (A, B))])


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
def test_what_was_not_written_goes_to_whoever_leads_later(
    fixture: TransactionFixture, error: ErrorCode
) -> None:
    fixture.brokers.errors = {B: error}
    fixture.end(fixture.begin())
    assert sent(fixture) == [(1, (A, B))]
    assert fixture.state == "PrepareCommit"
    fixture.brokers.leaders = {B: 3}
    fixture.clock.advance(RETRY_MS)
    assert sent(fixture) == [(3, (B,))]
    fixture.brokers.errors.clear()
    fixture.clock.advance(RETRY_MS)
    assert fixture.state == "CompleteCommit"


@pytest.mark.parametrize("error", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_log_that_can_have_no_marker_needs_none(fixture: TransactionFixture, error: ErrorCode) -> None:
    fixture.brokers.errors = {B: error}
    fixture.end(fixture.begin())
    assert fixture.state == "CompleteCommit"


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_coordinator_that_is_superseded_writes_no_more(
    fixture: TransactionFixture, error: ErrorCode
) -> None:
    fixture.brokers.errors = {B: error}
    fixture.end(fixture.begin())
    fixture.brokers.errors.clear()
    fixture.clock.advance(10 * RETRY_MS)
    assert len(sent(fixture)) == 1
    assert fixture.state == "PrepareCommit"


def test_a_partition_that_nobody_leads_is_waited_for_and_a_deleted_one_dropped(
    fixture: TransactionFixture,
) -> None:
    fixture.brokers.leaders = {A: None, B: -1}
    fixture.end(fixture.begin())
    fixture.clock.advance(5 * RETRY_MS)
    assert sent(fixture) == []
    assert fixture.state == "PrepareCommit"
    fixture.brokers.leaders[B] = 2
    fixture.clock.advance(RETRY_MS)
    assert sent(fixture) == [(2, (B,))]
    assert fixture.state == "CompleteCommit"


def test_a_partition_that_is_deleted_while_nobody_leads_it_needs_no_marker(
    fixture: TransactionFixture,
) -> None:
    fixture.brokers.leaders = {B: -1}
    fixture.end(fixture.begin())
    assert sent(fixture) == [(1, (A,))]
    assert fixture.state == "PrepareCommit"
    fixture.brokers.leaders[B] = None
    fixture.clock.advance(RETRY_MS)
    assert fixture.state == "CompleteCommit"


def test_a_broker_that_cannot_be_reached_is_asked_again(fixture: TransactionFixture) -> None:
    fixture.brokers.is_reachable = False
    fixture.end(fixture.begin())
    fixture.clock.advance(3 * RETRY_MS)
    assert fixture.state == "PrepareCommit"
    fixture.brokers.is_reachable = True
    fixture.clock.advance(RETRY_MS)
    assert fixture.state == "CompleteCommit"


def test_a_new_coordinator_writes_them_all_again_in_its_own_epoch(fixture: TransactionFixture) -> None:
    fixture.brokers.hold()
    fixture.end(fixture.begin(), commits=False)
    fixture.restart()
    fixture.brokers.release()
    assert {marker.coordinator_epoch for _, marker in fixture.brokers.written} == {1, 2}
    assert fixture.state == "CompleteAbort"
    assert len(fixture.markers) == 0


@pytest.mark.parametrize("shown", [0, 10 * PARTITIONS])
def test_a_coordinator_that_does_not_know_yet_how_many_partitions_there_are_goes_on_with_its_own(
    fixture: TransactionFixture, shown: int
) -> None:
    fixture.brokers.hold()
    fixture.end(fixture.begin())
    fixture.partition_count = shown
    fixture.restart()
    fixture.brokers.release()
    assert {marker.coordinator_epoch for _, marker in fixture.brokers.written} == {1, 2}
    assert fixture.state == "CompleteCommit"


def test_while_nobody_knows_how_many_partitions_there_are_no_id_is_coordinated(
    fixture: TransactionFixture,
) -> None:
    producer = fixture.begin()
    fixture.partition_count = 0
    assert fixture.init().error == ErrorCode.NOT_COORDINATOR
    assert fixture.end(producer).error == ErrorCode.NOT_COORDINATOR
    assert fixture.state == "Ongoing"


def test_what_another_coordinates_now_is_written_no_more(fixture: TransactionFixture) -> None:
    fixture.brokers.errors = {A: ErrorCode.NOT_ENOUGH_REPLICAS}
    fixture.end(fixture.begin())
    assert len(sent(fixture)) == 1
    fixture.coordinator.unload(fixture.coordinator.partition_of(NAME), 2)
    fixture.clock.advance(10 * RETRY_MS)
    assert sent(fixture) == []


def test_who_coordinates_on_in_a_higher_epoch_goes_on_with_them(fixture: TransactionFixture) -> None:
    fixture.brokers.hold()
    fixture.end(fixture.begin())
    fixture.coordinator.load(fixture.coordinator.partition_of(NAME), 2)
    fixture.brokers.release()
    assert fixture.state == "CompleteCommit"


def test_news_of_former_epochs_stop_nothing(fixture: TransactionFixture) -> None:
    fixture.restart()
    fixture.brokers.hold()
    fixture.end(fixture.begin())
    fixture.coordinator.unload(fixture.coordinator.partition_of(NAME), 1)
    fixture.brokers.release()
    assert fixture.state == "CompleteCommit"


def test_an_end_that_is_committed_late_has_its_markers_all_the_same(fixture: TransactionFixture) -> None:
    producer = fixture.begin()
    fixture.log.hold()
    asked = fixture.ask_end(producer)
    fixture.clock.advance(fixture.config.commit_timeout_ms)
    assert asked.value.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sent(fixture) == []
    fixture.log.release()
    assert fixture.state == "CompleteCommit"
