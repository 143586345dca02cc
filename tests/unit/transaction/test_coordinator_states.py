"""Requests in each state of a transactional id (Kafka's `TransactionCoordinator`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import Producer, ProducerAnswer
from support.transaction_coordinators import A, B

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.transaction_coordinators import TransactionFixture

NONE, BUSY = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
INVALID, FENCED = ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED

REACHED: dict[str, Callable[[TransactionFixture], Producer]] = {}


def reach(state: str, commits: bool, held: bool) -> Callable[[TransactionFixture], Producer]:
    def bring(fixture: TransactionFixture) -> Producer:
        producer = fixture.begin()
        if held:
            fixture.brokers.hold()
        assert fixture.end(producer, commits=commits).error == NONE
        assert fixture.state == state
        return producer

    return bring


def empty(fixture: TransactionFixture) -> Producer:
    producer = fixture.init().producer
    assert fixture.state == "Empty"
    return producer


def ongoing(fixture: TransactionFixture) -> Producer:
    producer = fixture.begin()
    assert fixture.state == "Ongoing"
    return producer


REACHED = {
    "Empty": empty,
    "Ongoing": ongoing,
    "PrepareCommit": reach("PrepareCommit", commits=True, held=True),
    "PrepareAbort": reach("PrepareAbort", commits=False, held=True),
    "CompleteCommit": reach("CompleteCommit", commits=True, held=False),
    "CompleteAbort": reach("CompleteAbort", commits=False, held=False),
}


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        ("Empty", NONE, "Empty"),
        ("Ongoing", BUSY, "CompleteAbort"),
        ("PrepareCommit", BUSY, "PrepareCommit"),
        ("PrepareAbort", BUSY, "PrepareAbort"),
        ("CompleteCommit", NONE, "Empty"),
        ("CompleteAbort", NONE, "Empty"),
    ],
)
def test_init(fixture: TransactionFixture, state: str, error: ErrorCode, after: str) -> None:
    producer = REACHED[state](fixture)
    answer = fixture.init()
    assert answer.error == error
    if not error:
        assert answer.producer == Producer(producer.id, producer.epoch + 1)
    assert fixture.state == after


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        ("Empty", NONE, "Ongoing"),
        ("Ongoing", NONE, "Ongoing"),
        ("PrepareCommit", BUSY, "PrepareCommit"),
        ("PrepareAbort", BUSY, "PrepareAbort"),
        ("CompleteCommit", NONE, "Ongoing"),
        ("CompleteAbort", NONE, "Ongoing"),
    ],
)
def test_add_partitions(fixture: TransactionFixture, state: str, error: ErrorCode, after: str) -> None:
    producer = REACHED[state](fixture)
    assert fixture.add(producer, ("new", 7)) == error
    assert fixture.state == after


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        ("Empty", INVALID, INVALID),
        ("Ongoing", NONE, NONE),
        ("PrepareCommit", BUSY, BUSY),
        ("PrepareAbort", BUSY, BUSY),
        ("CompleteCommit", NONE, INVALID),
        ("CompleteAbort", INVALID, NONE),
    ],
)
@pytest.mark.parametrize("commits", [True, False])
def test_end(
    fixture: TransactionFixture, state: str, commit: ErrorCode, abort: ErrorCode, commits: bool
) -> None:
    producer = REACHED[state](fixture)
    assert fixture.end(producer, commits=commits).error == (commit if commits else abort)
    if state == "Ongoing":
        assert fixture.state == ("CompleteCommit" if commits else "CompleteAbort")
    else:
        assert fixture.state == state


@pytest.mark.parametrize(
    ("state", "within", "outside"),
    [
        ("Empty", ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        ("Ongoing", NONE, ErrorCode.TRANSACTION_ABORTABLE),
        ("PrepareCommit", BUSY, BUSY),
        ("PrepareAbort", BUSY, BUSY),
        ("CompleteCommit", ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_verify(fixture: TransactionFixture, state: str, within: ErrorCode, outside: ErrorCode) -> None:
    producer = REACHED[state](fixture)
    answers = fixture.coordinator.verify("id", producer, [A, ("else", 0)])
    assert answers == {A: within, ("else", 0): outside}
    assert fixture.state == state


@pytest.mark.parametrize("state", REACHED)
@pytest.mark.parametrize(
    ("other", "error"),
    [
        (lambda producer: Producer(producer.id + 1, producer.epoch), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (lambda producer: Producer(producer.id, producer.epoch + 1), FENCED),
        (lambda producer: Producer(producer.id, producer.epoch - 1), FENCED),
    ],
    ids=["another", "later", "former"],
)
def test_other_producers_change_nothing(
    fixture: TransactionFixture, state: str, other: Callable[[Producer], Producer], error: ErrorCode
) -> None:
    stranger = other(REACHED[state](fixture))
    before = fixture.transaction()
    assert fixture.add(stranger) == error
    assert fixture.end(stranger).error == error
    assert fixture.end(stranger, commits=False).error == error
    assert set(fixture.coordinator.verify("id", stranger, [A, B]).values()) == {error}
    assert fixture.transaction() == before


def test_an_id_that_nobody_has(fixture: TransactionFixture) -> None:
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert fixture.add(Producer(1000, 0)) == unknown
    assert fixture.end(Producer(1000, 0)).error == unknown
    assert fixture.coordinator.verify("id", Producer(1000, 0), [A]) == {A: unknown}


def test_no_id_at_all(fixture: TransactionFixture) -> None:
    wrong = ErrorCode.INVALID_REQUEST
    assert fixture.init(name="") == ProducerAnswer(wrong)
    assert fixture.add(Producer(1000, 0), name="") == wrong
    assert fixture.coordinator.verify("", Producer(1000, 0), [A]) == {A: wrong}


@pytest.mark.parametrize("state", ["Empty", "Ongoing", "CompleteCommit", "CompleteAbort"])
def test_what_follows_a_change_that_is_not_committed_builds_on_it(
    fixture: TransactionFixture, state: str
) -> None:
    producer = REACHED[state](fixture)
    before = fixture.described
    fixture.log.hold()
    added = fixture.coordinator.add_partitions("id", producer, [("else", 0)], 0)
    ended = fixture.ask_end(producer)
    assert (added.done, ended.done) == (False, False)
    assert (fixture.described, fixture.state) == (before, "PrepareCommit")
    fixture.log.release()
    assert (added.value, ended.value.error) == (NONE, NONE)
    assert fixture.state == "CompleteCommit"


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_who_follows_a_completion_that_is_not_committed_builds_on_it(
    fixture: TransactionFixture, state: str
) -> None:
    producer = REACHED[state](fixture)
    fixture.log.hold()
    fixture.brokers.release()
    added = fixture.coordinator.add_partitions("id", producer, [A], 0)
    assert not added.done
    assert fixture.coordinator.verify("id", producer, [A]) == {A: BUSY}
    fixture.log.release()
    assert (added.value, fixture.state) == (NONE, "Ongoing")


def test_nobody_is_told_of_an_end_that_is_not_committed(fixture: TransactionFixture) -> None:
    producer = fixture.begin()
    fixture.log.hold()
    fixture.ask_end(producer)
    others = [fixture.ask_init(), fixture.ask_end(producer)]
    assert not any(each.done for each in others)
    assert fixture.coordinator.verify("id", producer, [A]) == {A: NONE}
    fixture.brokers.hold()
    fixture.log.release()
    assert [each.value.error for each in others] == [BUSY, BUSY]


def test_no_partition_is_verified_before_it_is_committed(fixture: TransactionFixture) -> None:
    """A leader that let a transaction begin there would wait for its end in vain if it were lost."""
    producer = fixture.begin()
    fixture.log.hold()
    fixture.coordinator.add_partitions("id", producer, [("else", 0)], 0)
    answers = fixture.coordinator.verify("id", producer, [A, ("else", 0)])
    assert answers == {A: NONE, ("else", 0): ErrorCode.TRANSACTION_ABORTABLE}
