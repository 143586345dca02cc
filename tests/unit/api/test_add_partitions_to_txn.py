"""AddPartitionsToTxn, of clients and of brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.transaction_apis import FENCED, NAME, OLD_FENCED, TransactionHandlers

if TYPE_CHECKING:
    from kcompat.transaction.requests import Producer

Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
T1 = {("t1", 0): 0, ("t1", 1): 0}


def topics(*partitions: tuple[str, int]) -> list[Topic]:
    return [Topic(topic, [index]) for topic, index in partitions]


def add(producer: Producer, *partitions: tuple[str, int], name: str = NAME) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=topics(*(partitions or T1)),
    )


def ask_for(
    producer: Producer, *partitions: tuple[str, int], name: str = NAME, verifies: bool = False
) -> Transaction:
    return Transaction(name, producer.id, producer.epoch, verifies, topics(*(partitions or T1)))


def of_topics(rows: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, row.partition_index): row.partition_error_code
        for topic in rows
        for row in topic.results_by_partition
    }


def told(answer: Any) -> dict[tuple[str, int], int]:
    return of_topics(answer.results_by_topic_v3_and_below)


def told_brokers(answer: Any) -> dict[str, dict[tuple[str, int], int]]:
    return {row.transactional_id: of_topics(row.topic_results) for row in answer.results_by_transaction}


@pytest.fixture
def broker() -> TransactionHandlers:
    return TransactionHandlers()


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions(broker: TransactionHandlers, version: int) -> None:
    producer = broker.fixture.init().producer
    assert told(broker.ask(add(producer), version)) == T1
    assert broker.in_transaction(T1)


@pytest.mark.parametrize("version", range(4))
def test_a_producer_that_was_fenced(broker: TransactionHandlers, version: int) -> None:
    error = FENCED if version >= 2 else OLD_FENCED
    assert told(broker.ask(add(broker.fenced()), version)) == dict.fromkeys(T1, error)


@pytest.mark.parametrize("topic", ["no", "__consumer_offsets"])
def test_all_are_added_or_none(broker: TransactionHandlers, topic: str) -> None:
    producer = broker.fixture.init().producer
    error = 29 if topic.startswith("__") else 3
    assert told(broker.ask(add(producer, ("t1", 0), (topic, 0)), 3)) == {("t1", 0): 55, (topic, 0): error}
    assert broker.fixture.state == "Empty"


def test_what_a_client_may_not(broker: TransactionHandlers) -> None:
    producer = broker.fixture.init().producer
    broker.authorizer = Denying((Operation.WRITE, Resource.topic("t2")))
    assert told(broker.ask(add(producer, ("t1", 0), ("t2", 9)), 3)) == {("t1", 0): 55, ("t2", 9): 29}
    broker.authorizer = Denying((Operation.WRITE, Resource.transactional_id(NAME)))
    assert told(broker.ask(add(producer), 3)) == dict.fromkeys(T1, 53)


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_asks_for_several_transactions(broker: TransactionHandlers, version: int) -> None:
    one = broker.fixture.begin()  # of t-0 and u-1
    two = broker.fixture.init(name="two").producer
    request = AddPartitionsToTxnRequest(
        transactions=[
            ask_for(one, verifies=True),
            ask_for(two, name="two"),
            ask_for(two, ("no", 0), ("t2", 0), name="three"),
        ]
    )
    answer = broker.ask(request, version)
    assert answer.error_code == 0
    assert told_brokers(answer) == {
        NAME: dict.fromkeys(T1, 120),
        "two": T1,
        "three": {("no", 0): 3, ("t2", 0): 55},
    }
    request = AddPartitionsToTxnRequest(transactions=[ask_for(two, name="two", verifies=True)])
    assert told_brokers(broker.ask(request, version)) == {"two": T1}


def test_only_a_broker_may_ask_so(broker: TransactionHandlers) -> None:
    producer = broker.fixture.init().producer
    broker.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    answer = broker.ask(AddPartitionsToTxnRequest(transactions=[ask_for(producer)]), 4)
    assert (answer.error_code, answer.results_by_transaction) == (31, [])
