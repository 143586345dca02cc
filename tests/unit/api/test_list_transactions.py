"""The handler of ListTransactions."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_transactions import ListTransactionsRequest
from kcompat.regex.parser import MAX_LENGTH
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.transaction_apis import NAME, TransactionHandlers
from support.transaction_coordinators import TIMEOUT_MS


@pytest.fixture
def broker() -> TransactionHandlers:
    """With one transaction that is open, and an id that has just been taken: producers 1000 and 1001."""
    broker = TransactionHandlers()
    broker.fixture.begin()
    broker.fixture.clock.advance(1_000)
    broker.fixture.init(name="idle")
    return broker


def names(answer: Any) -> list[str]:
    assert answer.error_code == 0
    return sorted(row.transactional_id for row in answer.transaction_states)


@pytest.mark.parametrize("version", range(3))
def test_all_are_listed(broker: TransactionHandlers, version: int) -> None:
    answer = broker.ask(ListTransactionsRequest(), version)
    rows = {
        (row.transactional_id, row.producer_id, row.transaction_state) for row in answer.transaction_states
    }
    assert rows == {(NAME, 1000, "Ongoing"), ("idle", 1001, "Empty")}
    assert answer.unknown_state_filters == []


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"state_filters": ["Ongoing"]}, [NAME]),
        ({"state_filters": ["Ongoing", "Empty"]}, [NAME, "idle"]),
        ({"state_filters": ["CompleteCommit"]}, []),
        ({"producer_id_filters": [1001, 5]}, ["idle"]),
        ({"producer_id_filters": [1001], "state_filters": ["Ongoing"]}, []),
    ],
)
def test_filters(broker: TransactionHandlers, filters: dict[str, Any], found: list[str]) -> None:
    assert names(broker.ask(ListTransactionsRequest(**filters), 0)) == found


def test_a_state_that_there_is_not(broker: TransactionHandlers) -> None:
    answer = broker.ask(ListTransactionsRequest(state_filters=["ongoing", "Ongoing", "Late"]), 0)
    assert answer.unknown_state_filters == ["ongoing", "Late"]
    assert names(answer) == [NAME]
    answer = broker.ask(ListTransactionsRequest(state_filters=["Late"]), 0)
    assert names(answer) == []


@pytest.mark.parametrize("label", ["Dead", "PrepareEpochFence"])
def test_a_state_that_only_kafka_has(broker: TransactionHandlers, label: str) -> None:
    answer = broker.ask(ListTransactionsRequest(state_filters=[label]), 0)
    assert (names(answer), answer.unknown_state_filters) == ([], [])


def test_how_long_a_transaction_is_open(broker: TransactionHandlers) -> None:
    """KIP-994. An id that has no transaction counts as open since long ago, as on a Kafka broker."""
    assert names(broker.ask(ListTransactionsRequest(duration_filter=999), 1)) == [NAME, "idle"]
    assert names(broker.ask(ListTransactionsRequest(duration_filter=1_000), 1)) == ["idle"]
    assert names(broker.ask(ListTransactionsRequest(duration_filter=-1), 1)) == [NAME, "idle"]
    assert TIMEOUT_MS > 1_000


def test_only_what_the_client_may_describe(broker: TransactionHandlers) -> None:
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.transactional_id(NAME)))
    assert names(broker.ask(ListTransactionsRequest(), 0)) == ["idle"]


def test_none_while_any_partition_is_loaded(broker: TransactionHandlers) -> None:
    fixture = broker.fixture
    for number in range(3_000):
        fixture.init(name=f"{number:06}-{'x' * 300}")
    fixture.coordinator.unload(0, 2)
    fixture.coordinator.load(0, 3)
    answer = broker.ask(ListTransactionsRequest(state_filters=["Late"]), 0)
    assert (answer.error_code, answer.unknown_state_filters, answer.transaction_states) == (14, [], [])


def by(pattern: str | None) -> ListTransactionsRequest:
    return ListTransactionsRequest(transactional_id_pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("i.*", [NAME, "idle"]),
        ("id", [NAME]),
        ("i", []),
        ("ünï.*", ["ünïcode"]),
        ("[^a-z].*", ["ünïcode"]),
        ("", [NAME, "idle", "ünïcode"]),
        (None, [NAME, "idle", "ünïcode"]),
    ],
)
def test_by_a_pattern_of_the_whole_id(broker: TransactionHandlers, pattern: str, found: list[str]) -> None:
    """Filters by a pattern are from KIP-1152."""
    broker.fixture.init(name="ünïcode")
    answer = broker.ask(by(pattern), 2)
    assert names(answer.value if isinstance(answer, Promise) else answer) == found


@pytest.mark.parametrize("pattern", ["(id", "x" * (MAX_LENGTH + 1)])
def test_a_pattern_that_is_none(broker: TransactionHandlers, pattern: str) -> None:
    answer = broker.ask(by(pattern), 2)
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


def test_others_have_their_turn_while_many_ids_are_compared(broker: TransactionHandlers) -> None:
    ids = [f"{number:03}-{'x' * 200}" for number in range(300)]
    for name in ids:
        broker.fixture.init(name=name)
    answer = broker.ask(by(".*x"), 2)
    assert not answer.done
    broker.fixture.clock.advance(0)
    assert names(answer.value) == ids
