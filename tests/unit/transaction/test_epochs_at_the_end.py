"""With `transaction.version` 2 the end of each transaction raises its producer's epoch (KIP-890)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import Producer, ProducerAnswer
from kcompat.transaction.transaction import LAST_EPOCH, NO_PRODUCER_ID
from support.transaction_world import TIMEOUT_MS, A

if TYPE_CHECKING:
    from support.transaction_world import TransactionWorld

VERSION = 2
FENCED = ProducerAnswer(ErrorCode.PRODUCER_FENCED)


def begin(world: TransactionWorld, producer: Producer | None = None) -> Producer:
    producer = producer or world.init().producer
    assert world.add(producer, A, client_version=VERSION) == ErrorCode.NONE
    return producer


def end(world: TransactionWorld, producer: Producer, *, commits: bool = True) -> ProducerAnswer:
    return world.end(producer, commits=commits, client_version=VERSION)


def test_the_producer_goes_on_in_the_next_epoch_in_which_the_markers_are(world: TransactionWorld) -> None:
    first = begin(world)
    answer = end(world, first)
    assert answer == ProducerAnswer(producer=Producer(first.id, first.epoch + 1))
    assert [marker.producer for _, marker in world.brokers.written] == [answer.producer]
    assert world.add(first, A, client_version=VERSION) == ErrorCode.PRODUCER_FENCED
    begin(world, answer.producer)
    assert world.state == "Ongoing"


def test_who_asks_again_is_told_the_same(world: TransactionWorld) -> None:
    for commits in (True, False):
        producer = begin(world)
        world.brokers.hold()
        answer = end(world, producer, commits=commits)
        assert end(world, producer, commits=commits).error == ErrorCode.CONCURRENT_TRANSACTIONS
        strangers = (producer, answer.producer, Producer(producer.id + 1, 0))
        for who, again in product(strangers, (True, False)):
            assert end(world, who, commits=again).error == ErrorCode.CONCURRENT_TRANSACTIONS
        world.brokers.release()
        assert end(world, producer, commits=commits) == answer
        assert end(world, producer, commits=not commits).error == ErrorCode.INVALID_TXN_STATE


def test_who_was_fenced_does_not_ask_again(world: TransactionWorld) -> None:
    former = begin(world)
    end(world, former)
    newer = world.init().producer
    before = Producer(newer.id, newer.epoch - 1)
    for _ in ("nothing is open", "a transaction is open"):
        for commits in (True, False):
            assert end(world, before, commits=commits).error == ErrorCode.PRODUCER_FENCED
        begin(world, newer)


def test_whose_transaction_was_aborted_in_a_higher_epoch_goes_on_in_that(world: TransactionWorld) -> None:
    """As on a Kafka broker: the epoch alone tells who asks again."""
    producer = begin(world)
    assert world.init().error == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.state == "CompleteAbort"
    assert end(world, producer).error == ErrorCode.INVALID_TXN_STATE
    answer = end(world, producer, commits=False)
    assert answer == ProducerAnswer(producer=Producer(producer.id, producer.epoch + 1))


def test_an_end_in_the_old_way_is_not_repeated_in_the_new_one(world: TransactionWorld) -> None:
    producer = world.init().producer
    assert world.add(producer, A) == ErrorCode.NONE
    assert world.end(producer).error == ErrorCode.NONE
    assert end(world, producer).error == ErrorCode.INVALID_TXN_STATE
    assert end(world, producer, commits=False).producer == Producer(producer.id, producer.epoch + 1)


def test_a_commit_of_nothing_is_refused_an_abort_of_nothing_is_one(world: TransactionWorld) -> None:
    producer = world.init().producer
    assert end(world, producer).error == ErrorCode.INVALID_TXN_STATE
    answer = end(world, producer, commits=False)
    assert answer.producer == Producer(producer.id, producer.epoch + 1)
    assert world.state == "CompleteAbort"
    assert world.brokers.written == []
    again = end(world, answer.producer, commits=False)
    assert again.producer == Producer(producer.id, producer.epoch + 2)
    assert end(world, again.producer).error == ErrorCode.INVALID_TXN_STATE


def test_after_the_last_epoch_the_producer_goes_on_with_another_id(world: TransactionWorld) -> None:
    producer = begin(world, world.find_the_last_epoch())
    world.brokers.hold()
    answer = end(world, producer)
    assert answer.producer == Producer(1001, 0)
    assert end(world, producer).error == ErrorCode.CONCURRENT_TRANSACTIONS
    world.restart()
    world.brokers.release()
    assert {marker.producer for _, marker in world.brokers.written} == {Producer(1000, LAST_EPOCH + 1)}
    assert end(world, producer) == answer
    begin(world, answer.producer)


def test_who_lost_the_answer_to_an_end_may_ask_who_it_is(world: TransactionWorld) -> None:
    for commits in (True, False):
        producer = begin(world)
        answer = end(world, producer, commits=commits)
        assert world.init(expected=producer) == answer
        assert world.init(expected=producer) == answer
        assert world.init(expected=Producer(producer.id, producer.epoch - 1)) == FENCED
        begin(world, answer.producer)
        assert end(world, answer.producer).error == ErrorCode.NONE


def test_who_lost_the_answer_is_fenced_once_another_has_begun(world: TransactionWorld) -> None:
    producer = begin(world)
    end(world, producer)
    world.init()
    assert world.init(expected=producer) == FENCED


def test_who_lost_the_answer_to_its_last_end_goes_on_with_another_id(world: TransactionWorld) -> None:
    producer = begin(world, world.find_the_last_epoch())
    answer = end(world, producer)
    assert world.init(expected=producer) == answer == ProducerAnswer(producer=Producer(1001, 0))


def test_whose_transaction_was_aborted_for_it_goes_on_in_the_higher_epoch(world: TransactionWorld) -> None:
    world.feature_level = VERSION
    for lose in (world.init, lambda: world.clock.advance(2 * TIMEOUT_MS)):
        producer = begin(world)
        lose()
        assert world.state == "CompleteAbort"
        assert world.init(expected=producer) == ProducerAnswer(
            producer=Producer(producer.id, producer.epoch + 1)
        )


def test_whose_transaction_was_aborted_in_the_old_way_is_fenced(world: TransactionWorld) -> None:
    producer = begin(world)
    world.clock.advance(2 * TIMEOUT_MS)
    assert world.init(expected=producer) == FENCED


def test_nobody_goes_on_in_the_epoch_that_fences_the_last(world: TransactionWorld) -> None:
    world.feature_level = VERSION
    producer = begin(world, world.find_the_last_epoch())
    world.clock.advance(2 * TIMEOUT_MS)
    assert world.init(expected=producer) == ProducerAnswer(producer=Producer(1001, 0))
    assert world.init(expected=producer) == ProducerAnswer(producer=Producer(1001, 0))


def test_a_commit_in_the_highest_epoch_is_refused_and_changes_nothing(world: TransactionWorld) -> None:
    last = world.find_open_in_the_fencing_epoch()
    assert end(world, last).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.state == "Ongoing"
    assert world.end(last).error == ErrorCode.NONE  # in the old way the epoch need not rise


def test_in_the_highest_epoch_an_abort_is_in_that(world: TransactionWorld) -> None:
    last = world.find_open_in_the_fencing_epoch()
    answer = end(world, last, commits=False)
    assert answer.producer == Producer(last.id + 1, 0)
    assert [marker.producer for _, marker in world.brokers.written] == [last]
    assert world.state == "CompleteAbort"
    begin(world, answer.producer)


def test_the_record_tells_a_new_coordinator_all_of_it(world: TransactionWorld) -> None:
    producer = begin(world)
    answer = end(world, producer)
    before = world.transaction()
    world.restart()
    assert world.transaction() == before
    assert end(world, producer) == answer


def test_from_level_1_on_records_tell_of_the_former_producer_id(world: TransactionWorld) -> None:
    for level in (0, 1):
        world.feature_level = level
        producer = world.begin()
        world.end(producer)
        world.restart()
        transaction = world.transaction()
        assert transaction is not None
        assert transaction.previous_producer_id == (producer.id if level else NO_PRODUCER_ID)
