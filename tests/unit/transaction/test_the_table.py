"""What each request finds in each state of a transactional id (Kafka's `TransactionCoordinator`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import Producer, ProducerAnswer
from support.transaction_world import A, B

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.transaction_world import TransactionWorld

NONE, BUSY = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
INVALID, FENCED = ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED

REACHED: dict[str, Callable[[TransactionWorld], Producer]] = {}


def reach(state: str, commits: bool, held: bool) -> Callable[[TransactionWorld], Producer]:
    def bring(world: TransactionWorld) -> Producer:
        producer = world.begin()
        if held:
            world.brokers.hold()
        assert world.end(producer, commits=commits).error == NONE
        assert world.state == state
        return producer

    return bring


def empty(world: TransactionWorld) -> Producer:
    producer = world.init().producer
    assert world.state == "Empty"
    return producer


def ongoing(world: TransactionWorld) -> Producer:
    producer = world.begin()
    assert world.state == "Ongoing"
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
def test_init(world: TransactionWorld, state: str, error: ErrorCode, after: str) -> None:
    producer = REACHED[state](world)
    answer = world.init()
    assert answer.error == error
    if not error:
        assert answer.producer == Producer(producer.id, producer.epoch + 1)
    assert world.state == after


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
def test_add_partitions(world: TransactionWorld, state: str, error: ErrorCode, after: str) -> None:
    producer = REACHED[state](world)
    assert world.add(producer, ("new", 7)) == error
    assert world.state == after


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
def test_end(world: TransactionWorld, state: str, commit: ErrorCode, abort: ErrorCode, commits: bool) -> None:
    producer = REACHED[state](world)
    assert world.end(producer, commits=commits).error == (commit if commits else abort)
    if state == "Ongoing":
        assert world.state == ("CompleteCommit" if commits else "CompleteAbort")
    else:
        assert world.state == state


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
def test_verify(world: TransactionWorld, state: str, within: ErrorCode, outside: ErrorCode) -> None:
    producer = REACHED[state](world)
    answers = world.coordinator.verify("id", producer, [A, ("else", 0)])
    assert answers == {A: within, ("else", 0): outside}
    assert world.state == state


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
    world: TransactionWorld, state: str, other: Callable[[Producer], Producer], error: ErrorCode
) -> None:
    stranger = other(REACHED[state](world))
    before = world.transaction()
    assert world.add(stranger) == error
    assert world.end(stranger).error == error
    assert world.end(stranger, commits=False).error == error
    assert set(world.coordinator.verify("id", stranger, [A, B]).values()) == {error}
    assert world.transaction() == before


def test_an_id_that_nobody_has(world: TransactionWorld) -> None:
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.add(Producer(1000, 0)) == unknown
    assert world.end(Producer(1000, 0)).error == unknown
    assert world.coordinator.verify("id", Producer(1000, 0), [A]) == {A: unknown}


def test_no_id_at_all(world: TransactionWorld) -> None:
    wrong = ErrorCode.INVALID_REQUEST
    assert world.init(name="") == ProducerAnswer(wrong)
    assert world.add(Producer(1000, 0), name="") == wrong
    assert world.coordinator.verify("", Producer(1000, 0), [A]) == {A: wrong}


@pytest.mark.parametrize("state", ["Empty", "Ongoing", "CompleteCommit", "CompleteAbort"])
def test_what_follows_a_change_that_is_not_committed_builds_on_it(
    world: TransactionWorld, state: str
) -> None:
    producer = REACHED[state](world)
    before = world.described
    world.log.hold()
    added = world.coordinator.add_partitions("id", producer, [("else", 0)], 0)
    ended = world.ask_end(producer)
    assert (added.done, ended.done) == (False, False)
    assert (world.described, world.state) == (before, "PrepareCommit")
    world.log.release()
    assert (added.value, ended.value.error) == (NONE, NONE)
    assert world.state == "CompleteCommit"


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_who_follows_a_completion_that_is_not_committed_builds_on_it(
    world: TransactionWorld, state: str
) -> None:
    producer = REACHED[state](world)
    world.log.hold()
    world.brokers.release()
    added = world.coordinator.add_partitions("id", producer, [A], 0)
    assert not added.done
    assert world.coordinator.verify("id", producer, [A]) == {A: BUSY}
    world.log.release()
    assert (added.value, world.state) == (NONE, "Ongoing")


def test_nobody_is_told_of_an_end_that_is_not_committed(world: TransactionWorld) -> None:
    producer = world.begin()
    world.log.hold()
    world.ask_end(producer)
    others = [world.ask_init(), world.ask_end(producer)]
    assert not any(each.done for each in others)
    assert world.coordinator.verify("id", producer, [A]) == {A: NONE}
    world.brokers.hold()
    world.log.release()
    assert [each.value.error for each in others] == [BUSY, BUSY]


def test_no_partition_is_verified_before_it_is_committed(world: TransactionWorld) -> None:
    """A leader that let a transaction begin there would wait for its end in vain if it were lost."""
    producer = world.begin()
    world.log.hold()
    world.coordinator.add_partitions("id", producer, [("else", 0)], 0)
    answers = world.coordinator.verify("id", producer, [A, ("else", 0)])
    assert answers == {A: NONE, ("else", 0): ErrorCode.TRANSACTION_ABORTABLE}
