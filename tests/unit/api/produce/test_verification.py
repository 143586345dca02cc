"""Produce in a transaction: what is asked of its coordinator first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.context import Busy
from kcompat.api.produce.verification import PATIENCE_MS, PAUSE_MS
from kcompat.coordinator.ports import Claim
from kcompat.log.append import BY_COORDINATOR
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from support.topics_on_disk import NOW, batch, rows, topic_data

if TYPE_CHECKING:
    from support.topics_on_disk import TopicsFixture

PRODUCER, EPOCH = 7, 0
ABORT = EndTransactionMarker(ControlType.ABORT, 0)


def sent(sequence: int = 0, producer_id: int = PRODUCER) -> bytes:
    return batch(
        b"v", producer_id=producer_id, producer_epoch=EPOCH, base_sequence=sequence, transactional=True
    )


def produce(fixture: TopicsFixture, *batches: tuple[int, bytes], version: int = 9, **more: Any) -> Any:
    return fixture.produce(*batches, version=version, transactional_id="x", **more)


def messages(answer: Any) -> list[tuple[int, str | None]]:
    return [
        (row.error_code, row.error_message) for topic in answer.responses for row in topic.partition_responses
    ]


@pytest.mark.parametrize(
    ("version", "adds", "knows_abortable"), [(9, False, False), (11, False, True), (12, True, True)]
)
def test_the_first_batches_are_asked_about_together(
    fixture: TopicsFixture, version: int, adds: bool, knows_abortable: bool
) -> None:
    assert rows(produce(fixture, (0, sent()), (1, sent()), version=version)) == [(0, 0, 1), (1, 0, 0)]
    claim = Claim("x", PRODUCER, EPOCH, adds, knows_abortable)
    assert fixture.verifier.asked == [(claim, [("t", 0), ("t", 1)])]
    assert rows(produce(fixture, (0, sent(1)), version=version)) == [(0, 0, 2)]
    assert len(fixture.verifier.asked) == 1, "the transaction is known in this partition"


def test_those_that_are_in_the_transaction_are_written(fixture: TopicsFixture) -> None:
    fixture.verifier.errors = {("t", 1): ErrorCode.INVALID_TXN_STATE}
    answer = produce(fixture, (0, sent()), (1, sent()))
    assert messages(answer) == [(0, None), (48, "Partition was not added to the transaction")]
    assert rows(answer) == [(0, 0, 1), (1, 48, -1)]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    ],
)
def test_where_it_cannot_be_verified_clients_try_again(fixture: TopicsFixture, error: ErrorCode) -> None:
    fixture.verifier.errors = {("t", 0): error}
    said = f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name}"
    assert messages(produce(fixture, (0, sent()))) == [(19, said)]


@pytest.mark.parametrize("error", [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_other_errors_are_told(fixture: TopicsFixture, error: ErrorCode) -> None:
    fixture.verifier.errors = {("t", 0): error}
    assert messages(produce(fixture, (0, sent()), version=11)) == [(error, None)]


def test_what_comes_behind_waits_for_the_answer(fixture: TopicsFixture) -> None:
    fixture.verifier.hold()
    answer = produce(fixture, (0, sent()))
    assert isinstance(answer, Busy)
    assert answer.holds == len(sent())
    assert not answer.outcome.done
    fixture.verifier.release()
    assert rows(answer.outcome.value) == [(0, 0, 1)]
    assert fixture.values("t")[-1] == b"v"


def test_a_topic_of_which_nothing_is_sent_may_come_first(fixture: TopicsFixture) -> None:
    fixture.verifier.hold()
    topics = [topic_data(topic="u"), topic_data((0, sent()))]
    answer = fixture.produce_all(topics, transactional_id="x")
    assert isinstance(answer, Busy)
    fixture.verifier.release()
    response: Any = answer.outcome.value
    first, second = response.responses
    assert (first.name, first.partition_responses) == ("u", [])
    assert [row.error_code for row in second.partition_responses] == [0]


def test_a_partition_is_added_once_the_transaction_before_has_ended(fixture: TopicsFixture) -> None:
    fixture.verifier.errors = {("t", 0): ErrorCode.CONCURRENT_TRANSACTIONS}
    answer = produce(fixture, (0, sent()), version=12)
    assert isinstance(answer, Busy)
    fixture.clock.advance(PAUSE_MS)
    assert len(fixture.verifier.asked) == 2
    fixture.verifier.errors = {}
    fixture.clock.advance(PAUSE_MS)
    assert rows(answer.outcome.value) == [(0, 0, 1)]


def test_that_is_tried_for_a_moment_only(fixture: TopicsFixture) -> None:
    fixture.verifier.errors = {("t", 0): ErrorCode.CONCURRENT_TRANSACTIONS}
    answer = produce(fixture, (0, sent()), version=12)
    fixture.clock.advance(PATIENCE_MS)
    assert messages(answer.outcome.value) == [(51, None)]


def test_a_marker_that_comes_first_spends_the_answer(fixture: TopicsFixture) -> None:
    """The transaction is aborted while the coordinator's answer is on its way."""
    fixture.verifier.hold()
    answer = produce(fixture, (0, sent()))
    marker = memoryview(
        build_marker(ABORT, producer_id=PRODUCER, producer_epoch=EPOCH, timestamp=NOW, leader_epoch=0)
    )
    fixture.partition("t").append(marker, read_header(marker), -1, NOW, BY_COORDINATOR)
    fixture.verifier.release()
    assert rows(answer.outcome.value) == [(0, 48, -1)]


def test_one_producer_a_request(fixture: TopicsFixture) -> None:
    answer = produce(fixture, (0, sent()), (1, sent(producer_id=8)))
    assert [row[1] for row in rows(answer)] == [49, 49]


def test_nothing_is_asked_where_the_broker_is_told_so(fixture: TopicsFixture) -> None:
    fixture.verifier.is_required = False
    assert rows(produce(fixture, (0, sent()))) == [(0, 0, 1)]
    assert fixture.verifier.asked == []


def test_a_topic_that_cannot_be_written_is_not_asked_about(fixture: TopicsFixture) -> None:
    assert [row[1] for row in rows(produce(fixture, (0, sent()), topic="__consumer_offsets"))] == [3]
    assert fixture.verifier.asked == []


def test_plain_batches_beside_those_of_a_transaction(fixture: TopicsFixture) -> None:
    assert rows(produce(fixture, (0, sent()), (1, batch(b"w")))) == [(0, 0, 1), (1, 0, 0)]
    assert [each for _, each in fixture.verifier.asked] == [[("t", 0)]]


def test_without_a_transactional_id_all_are_refused(fixture: TopicsFixture) -> None:
    assert rows(fixture.produce((0, sent()), (1, batch(b"w")))) == [(0, 53, -1), (1, 53, -1)]
