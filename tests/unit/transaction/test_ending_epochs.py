"""With `transaction.version` 2 the end of each transaction raises its producer's epoch (KIP-890)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import Producer, ProducerAnswer
from kcompat.transaction.transaction import LAST_EPOCH, NO_PRODUCER_ID
from support.transaction_coordinators import TIMEOUT_MS, A

if TYPE_CHECKING:
    from support.transaction_coordinators import TransactionFixture

VERSION = 2
FENCED = ProducerAnswer(ErrorCode.PRODUCER_FENCED)


def begin(fixture: TransactionFixture, producer: Producer | None = None) -> Producer:
    producer = producer or fixture.init().producer
    assert fixture.add(producer, A, client_version=VERSION) == ErrorCode.NONE
    return producer


def end(fixture: TransactionFixture, producer: Producer, *, commits: bool = True) -> ProducerAnswer:
    return fixture.end(producer, commits=commits, client_version=VERSION)


def test_the_producer_goes_on_in_the_next_epoch_in_which_the_markers_are(fixture: TransactionFixture) -> None:
    first = begin(fixture)
    answer = end(fixture, first)
    assert answer == ProducerAnswer(producer=Producer(first.id, first.epoch + 1))
    assert [marker.producer for _, marker in fixture.brokers.written] == [answer.producer]
    assert fixture.add(first, A, client_version=VERSION) == ErrorCode.PRODUCER_FENCED
    begin(fixture, answer.producer)
    assert fixture.state == "Ongoing"


def test_who_asks_again_is_told_the_same(fixture: TransactionFixture) -> None:
    for commits in (True, False):
        producer = begin(fixture)
        fixture.brokers.hold()
        answer = end(fixture, producer, commits=commits)
        assert end(fixture, producer, commits=commits).error == ErrorCode.CONCURRENT_TRANSACTIONS
        strangers = (producer, answer.producer, Producer(producer.id + 1, 0))
        for who, again in product(strangers, (True, False)):
            assert end(fixture, who, commits=again).error == ErrorCode.CONCURRENT_TRANSACTIONS
        fixture.brokers.release()
        assert end(fixture, producer, commits=commits) == answer
        assert end(fixture, producer, commits=not commits).error == ErrorCode.INVALID_TXN_STATE


def test_who_was_fenced_does_not_ask_again(fixture: TransactionFixture) -> None:
    former = begin(fixture)
    end(fixture, former)
    newer = fixture.init().producer
    before = Producer(newer.id, newer.epoch - 1)
    for _ in ("nothing is open", "a transaction is open"):
        for commits in (True, False):
            assert end(fixture, before, commits=commits).error == ErrorCode.PRODUCER_FENCED
        begin(fixture, newer)


def test_whose_transaction_was_aborted_in_a_higher_epoch_goes_on_in_that(fixture: TransactionFixture) -> None:
    """As on a Kafka broker: the epoch alone tells who asks again."""
    producer = begin(fixture)
    assert fixture.init().error == ErrorCode.CONCURRENT_TRANSACTIONS
    assert fixture.state == "CompleteAbort"
    assert end(fixture, producer).error == ErrorCode.INVALID_TXN_STATE
    answer = end(fixture, producer, commits=False)
    assert answer == ProducerAnswer(producer=Producer(producer.id, producer.epoch + 1))


def test_an_end_in_the_old_way_is_not_repeated_in_the_new_one(fixture: TransactionFixture) -> None:
    producer = fixture.init().producer
    assert fixture.add(producer, A) == ErrorCode.NONE
    assert fixture.end(producer).error == ErrorCode.NONE
    assert end(fixture, producer).error == ErrorCode.INVALID_TXN_STATE
    assert end(fixture, producer, commits=False).producer == Producer(producer.id, producer.epoch + 1)


def test_a_commit_of_nothing_is_refused_an_abort_of_nothing_is_one(fixture: TransactionFixture) -> None:
    producer = fixture.init().producer
    assert end(fixture, producer).error == ErrorCode.INVALID_TXN_STATE
    answer = end(fixture, producer, commits=False)
    assert answer.producer == Producer(producer.id, producer.epoch + 1)
    assert fixture.state == "CompleteAbort"
    assert fixture.brokers.written == []
    again = end(fixture, answer.producer, commits=False)
    assert again.producer == Producer(producer.id, producer.epoch + 2)
    assert end(fixture, again.producer).error == ErrorCode.INVALID_TXN_STATE


def test_after_the_last_epoch_the_producer_goes_on_with_another_id(fixture: TransactionFixture) -> None:
    producer = begin(fixture, fixture.find_the_last_epoch())
    fixture.brokers.hold()
    answer = end(fixture, producer)
    assert answer.producer == Producer(1001, 0)
    assert end(fixture, producer).error == ErrorCode.CONCURRENT_TRANSACTIONS
    fixture.restart()
    fixture.brokers.release()
    assert {marker.producer for _, marker in fixture.brokers.written} == {Producer(1000, LAST_EPOCH + 1)}
    assert end(fixture, producer) == answer
    begin(fixture, answer.producer)


def test_who_lost_the_answer_to_an_end_may_ask_who_it_is(fixture: TransactionFixture) -> None:
    for commits in (True, False):
        producer = begin(fixture)
        answer = end(fixture, producer, commits=commits)
        assert fixture.init(expected=producer) == answer
        assert fixture.init(expected=producer) == answer
        assert fixture.init(expected=Producer(producer.id, producer.epoch - 1)) == FENCED
        begin(fixture, answer.producer)
        assert end(fixture, answer.producer).error == ErrorCode.NONE


def test_who_lost_the_answer_is_fenced_once_another_has_begun(fixture: TransactionFixture) -> None:
    producer = begin(fixture)
    end(fixture, producer)
    fixture.init()
    assert fixture.init(expected=producer) == FENCED


def test_who_lost_the_answer_to_its_last_end_goes_on_with_another_id(fixture: TransactionFixture) -> None:
    producer = begin(fixture, fixture.find_the_last_epoch())
    answer = end(fixture, producer)
    assert fixture.init(expected=producer) == answer == ProducerAnswer(producer=Producer(1001, 0))


def test_whose_transaction_was_aborted_for_it_goes_on_in_the_higher_epoch(
    fixture: TransactionFixture,
) -> None:
    fixture.feature_level = VERSION
    for lose in (fixture.init, lambda: fixture.clock.advance(2 * TIMEOUT_MS)):
        producer = begin(fixture)
        lose()
        assert fixture.state == "CompleteAbort"
        assert fixture.init(expected=producer) == ProducerAnswer(
            producer=Producer(producer.id, producer.epoch + 1)
        )


def test_whose_transaction_was_aborted_in_the_old_way_is_fenced(fixture: TransactionFixture) -> None:
    producer = begin(fixture)
    fixture.clock.advance(2 * TIMEOUT_MS)
    assert fixture.init(expected=producer) == FENCED


def test_nobody_goes_on_in_the_epoch_that_fences_the_last(fixture: TransactionFixture) -> None:
    fixture.feature_level = VERSION
    producer = begin(fixture, fixture.find_the_last_epoch())
    fixture.clock.advance(2 * TIMEOUT_MS)
    assert fixture.init(expected=producer) == ProducerAnswer(producer=Producer(1001, 0))
    assert fixture.init(expected=producer) == ProducerAnswer(producer=Producer(1001, 0))


def test_a_commit_in_the_highest_epoch_is_refused_and_changes_nothing(fixture: TransactionFixture) -> None:
    last = fixture.find_open_in_the_fencing_epoch()
    assert end(fixture, last).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert fixture.state == "Ongoing"
    assert fixture.end(last).error == ErrorCode.NONE  # in the old way the epoch need not rise


def test_in_the_highest_epoch_an_abort_is_in_that(fixture: TransactionFixture) -> None:
    last = fixture.find_open_in_the_fencing_epoch()
    answer = end(fixture, last, commits=False)
    assert answer.producer == Producer(last.id + 1, 0)
    assert [marker.producer for _, marker in fixture.brokers.written] == [last]
    assert fixture.state == "CompleteAbort"
    begin(fixture, answer.producer)


def test_the_record_tells_a_new_coordinator_all_of_it(fixture: TransactionFixture) -> None:
    producer = begin(fixture)
    answer = end(fixture, producer)
    before = fixture.transaction()
    fixture.restart()
    assert fixture.transaction() == before
    assert end(fixture, producer) == answer


def test_from_level_1_on_records_tell_of_the_former_producer_id(fixture: TransactionFixture) -> None:
    for level in (0, 1):
        fixture.feature_level = level
        producer = fixture.begin()
        fixture.end(producer)
        fixture.restart()
        transaction = fixture.transaction()
        assert transaction is not None
        assert transaction.previous_producer_id == (producer.id if level else NO_PRODUCER_ID)
