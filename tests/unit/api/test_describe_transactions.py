"""The handler of DescribeTransactions."""

from __future__ import annotations

from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.transaction_apis import NAME, TransactionHandlers
from support.transaction_coordinators import PARTITIONS, TIMEOUT_MS


def test_each_id_stands_alone() -> None:
    broker = TransactionHandlers()
    producer = broker.fixture.begin()
    answer = broker.ask(DescribeTransactionsRequest([NAME, "other", ""]), 0)
    rows = [(row.transactional_id, row.error_code) for row in answer.transaction_states]
    assert rows == [(NAME, 0), ("other", 105), ("", 42)]
    row = answer.transaction_states[0]
    assert (row.transaction_state, row.transaction_timeout_ms, row.transaction_start_time_ms) == (
        "Ongoing",
        TIMEOUT_MS,
        broker.fixture.clock.now_ms(),
    )
    assert (row.producer_id, row.producer_epoch) == (producer.id, producer.epoch)
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("t", [0]), ("u", [1])]


def test_only_what_the_client_may_describe() -> None:
    broker = TransactionHandlers()
    broker.fixture.begin()
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic("t")))
    row = broker.ask(DescribeTransactionsRequest([NAME]), 0).transaction_states[0]
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("u", [1])]
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.transactional_id(NAME)))
    row = broker.ask(DescribeTransactionsRequest([NAME]), 0).transaction_states[0]
    assert (row.error_code, row.transaction_state, row.topics) == (53, "", [])


def test_another_broker_coordinates_it() -> None:
    broker = TransactionHandlers()
    for partition in range(PARTITIONS):
        broker.fixture.coordinator.unload(partition, 2)
    assert broker.ask(DescribeTransactionsRequest([NAME]), 0).transaction_states[0].error_code == 16
