"""The handler of AddOffsetsToTxn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.transaction_apis import FENCED, NAME, OLD_FENCED, TransactionHandlers

if TYPE_CHECKING:
    from kcompat.transaction.requests import Producer


def add(producer: Producer, group_id: str = "g", name: str = NAME) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(name, producer.id, producer.epoch, group_id)


@pytest.fixture
def broker() -> TransactionHandlers:
    return TransactionHandlers()


@pytest.mark.parametrize("version", range(5))
def test_the_partition_of_the_group_is_added(broker: TransactionHandlers, version: int) -> None:
    producer = broker.fixture.init().producer
    assert broker.ask(add(producer), version).error_code == 0
    place = ("__consumer_offsets", broker.groups.coordinator.partition_of("g"))
    assert broker.in_transaction({place})


@pytest.mark.parametrize("version", range(5))
def test_a_producer_that_was_fenced(broker: TransactionHandlers, version: int) -> None:
    answer = broker.ask(add(broker.fenced()), version)
    assert answer.error_code == (FENCED if version >= 2 else OLD_FENCED)


def test_what_is_refused(broker: TransactionHandlers) -> None:
    producer = broker.fixture.init().producer
    assert broker.ask(add(producer, name=""), 3).error_code == 42
    assert broker.ask(add(producer, name="other"), 3).error_code == 49
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert broker.ask(add(producer), 3).error_code == 30
    broker.authorizer = Denying(
        (Operation.READ, Resource.group("g")), (Operation.WRITE, Resource.transactional_id(NAME))
    )
    assert broker.ask(add(producer), 3).error_code == 53


def test_a_group_whose_partition_is_not_known_yet(broker: TransactionHandlers) -> None:
    producer = broker.fixture.init().producer
    broker.groups.partition_count = 0
    assert broker.ask(add(producer), 3).error_code == 15
    assert broker.in_transaction(set())
