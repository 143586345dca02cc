"""InitProducerId: epochs rise, are used up, and requests that are sent again are known (KIP-360)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import InitRequest, Producer, ProducerAnswer
from kcompat.transaction.transaction import LAST_EPOCH

if TYPE_CHECKING:
    from support.transaction_coordinators import TransactionFixture

FENCED = ProducerAnswer(ErrorCode.PRODUCER_FENCED)
BUSY = ProducerAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)


def given(producer_id: int, epoch: int) -> ProducerAnswer:
    return ProducerAnswer(producer=Producer(producer_id, epoch))


def test_each_id_has_a_producer_of_its_own_whose_epoch_rises(fixture: TransactionFixture) -> None:
    assert [fixture.init(name=name) for name in ("a", "b", "a", "a")] == [
        given(1000, 0),
        given(1001, 0),
        given(1000, 1),
        given(1000, 2),
    ]


def test_no_producer_id_to_be_had(fixture: TransactionFixture) -> None:
    fixture.has_ids = False
    assert fixture.init() == ProducerAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert fixture.transaction() is None


def test_timeouts_that_are_too_long_or_none(fixture: TransactionFixture) -> None:
    for timeout_ms in (-1, 0, 900_001):
        answer = fixture.coordinator.initialize(InitRequest("id", timeout_ms)).value
        assert answer.error == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_an_open_transaction_is_aborted_in_an_epoch_that_nobody_is_given(fixture: TransactionFixture) -> None:
    former = fixture.begin()
    assert fixture.init() == BUSY
    (_, marker) = fixture.brokers.written[0]
    assert (marker.producer, marker.commits) == (Producer(former.id, former.epoch + 1), False)
    assert fixture.init() == given(former.id, former.epoch + 2)
    assert fixture.end(former).error == ErrorCode.PRODUCER_FENCED


def test_a_producer_that_goes_on_after_an_error(fixture: TransactionFixture) -> None:
    first = fixture.init().producer
    assert fixture.init(expected=first) == given(first.id, 1)
    assert fixture.init(expected=first) == given(first.id, 1)  # the same request, sent again
    assert fixture.init(expected=Producer(first.id, 1)) == given(first.id, 2)
    assert fixture.init(expected=first) == FENCED
    assert fixture.init(expected=Producer(first.id + 1, 2)) == FENCED


def test_who_begins_anew_fences_who_would_go_on(fixture: TransactionFixture) -> None:
    first = fixture.init().producer
    assert fixture.init() == given(first.id, 1)
    assert fixture.init(expected=first) == FENCED


def test_a_producer_that_is_new_to_the_coordinator_may_expect_anything(fixture: TransactionFixture) -> None:
    assert fixture.init(expected=Producer(77, 5)) == given(1000, 0)


def test_after_the_last_epoch_comes_another_producer_id(fixture: TransactionFixture) -> None:
    last = fixture.find_the_last_epoch()
    assert last == Producer(1000, LAST_EPOCH)
    assert fixture.init() == given(1001, 0)
    assert fixture.init(expected=last) == FENCED  # another has begun meanwhile


def test_the_last_epoch_and_the_same_producer(fixture: TransactionFixture) -> None:
    last = fixture.find_the_last_epoch()
    assert fixture.init(expected=last) == given(1001, 0)
    assert fixture.init(expected=last) == given(1001, 0)  # sent again
    assert fixture.init(expected=Producer(1001, 0)) == given(1001, 1)


def test_one_epoch_is_left_to_fence_the_last(fixture: TransactionFixture) -> None:
    last = fixture.find_the_last_epoch()
    assert fixture.add(last) == ErrorCode.NONE
    assert fixture.init() == BUSY
    assert fixture.brokers.written[0][1].producer == Producer(1000, LAST_EPOCH + 1)
    assert fixture.init() == given(1001, 0)


def test_what_is_open_in_the_highest_epoch_is_aborted_in_that(fixture: TransactionFixture) -> None:
    last = fixture.find_open_in_the_fencing_epoch()
    assert fixture.init() == BUSY
    assert [(marker.producer, marker.commits) for _, marker in fixture.brokers.written] == [(last, False)]
    assert fixture.init() == given(last.id + 1, 0)


def test_a_record_that_cannot_be_written_gives_nothing(fixture: TransactionFixture) -> None:
    first = fixture.init().producer
    for error, answer in (
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ):
        fixture.log.error = error
        assert fixture.init().error == answer
    fixture.log.error = ErrorCode.NONE
    assert fixture.init(expected=first) == given(first.id, 1)


def test_a_record_that_cannot_be_written_forgets_nobody_who_asks_again(fixture: TransactionFixture) -> None:
    first = fixture.init().producer
    assert fixture.init(expected=first) == given(first.id, 1)  # and the answer is lost
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.init().error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.log.error = ErrorCode.NONE
    assert fixture.init(expected=first) == given(first.id, 1)


def test_a_new_coordinator_knows_the_producer_but_not_what_it_was(fixture: TransactionFixture) -> None:
    first = fixture.init().producer
    fixture.init(expected=first)
    fixture.restart()
    assert fixture.init(expected=first) == FENCED
    assert fixture.init(expected=Producer(first.id, 1)) == given(first.id, 2)
