"""The handler of EndTxn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.transaction_apis import FENCED, NAME, OLD_FENCED, TransactionHandlers

if TYPE_CHECKING:
    from kcompat.transaction.requests import Producer


def end(producer: Producer, *, commits: bool = True, name: str = NAME) -> EndTxnRequest:
    return EndTxnRequest(name, producer.id, producer.epoch, commits)


@pytest.fixture
def broker() -> TransactionHandlers:
    return TransactionHandlers()


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("version", range(5))
def test_a_transaction_ends(broker: TransactionHandlers, version: int, commits: bool) -> None:
    answer = broker.ask(end(broker.fixture.begin(), commits=commits), version)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, -1, -1)
    assert broker.fixture.state == ("CompleteCommit" if commits else "CompleteAbort")


@pytest.mark.parametrize("commits", [True, False])
def test_since_version_5_the_answer_has_the_next_epoch(broker: TransactionHandlers, commits: bool) -> None:
    producer = broker.fixture.begin()
    answer = broker.ask(end(producer, commits=commits), 5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        0,
        producer.id,
        producer.epoch + 1,
    )


@pytest.mark.parametrize("version", range(6))
def test_a_producer_that_was_fenced(broker: TransactionHandlers, version: int) -> None:
    answer = broker.ask(end(broker.fenced()), version)
    assert answer.error_code == (FENCED if version >= 2 else OLD_FENCED)


def test_what_is_refused(broker: TransactionHandlers) -> None:
    producer = broker.fixture.init().producer
    assert broker.ask(end(producer, name=""), 3).error_code == 42
    assert broker.ask(end(producer, name="other"), 3).error_code == 49
    assert broker.ask(end(producer), 3).error_code == 48  # nothing is open
    broker.authorizer = Denying((Operation.WRITE, Resource.transactional_id(NAME)))
    assert broker.ask(end(producer), 3).error_code == 53


def test_the_answer_waits_for_the_decision(broker: TransactionHandlers) -> None:
    producer = broker.fixture.begin()
    broker.fixture.log.hold()
    answer = broker.ask(end(producer), 3)
    assert not answer.done
    broker.fixture.log.release()
    assert answer.value.error_code == 0
