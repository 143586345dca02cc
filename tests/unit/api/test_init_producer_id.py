"""The handler of InitProducerId."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import (
    init_producer_id,
)
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.net.answers import CLOSE
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import Client, Denying, Finalized, services_of
from support.cluster_of_one import ClusterFixture
from support.raw_client import request_frame
from support.transaction_apis import FENCED, OLD_FENCED, TransactionHandlers
from support.virtual_clock import VirtualClock

PEER: Any = Client()


@pytest.mark.parametrize("version", range(6))
async def test_producer_ids_come_one_after_the_other(version: int) -> None:
    async with ClusterFixture() as fixture:
        request = InitProducerIdRequest(transactional_id=None)
        responses = [await fixture.ask(init_producer_id, version, request) for _ in range(3)]
        assert [(each.error_code, each.producer_id, each.producer_epoch) for each in responses] == [
            (0, 0, 0),
            (0, 1, 0),
            (0, 2, 0),
        ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"producer_id": 5, "producer_epoch": 1}, 0),
        ({"producer_id": 5}, 42),
        ({"producer_epoch": 5}, 42),
        ({"transactional_id": "x", "transaction_timeout_ms": 0, "producer_id": 5}, 42),
    ],
)
async def test_what_producers_may_ask(fields: dict[str, Any], error: int) -> None:
    async with ClusterFixture() as fixture:
        request = InitProducerIdRequest(**{"transactional_id": None, **fields})
        response = await fixture.ask(init_producer_id, 5, request)
        assert response.error_code == error
        assert (response.producer_id, response.producer_epoch) == ((0, 0) if error == 0 else (-1, -1))


async def test_without_a_transaction_any_topic_that_may_be_written_will_do() -> None:
    async with ClusterFixture() as fixture:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        no_idempotence = (Operation.IDEMPOTENT_WRITE, CLUSTER)
        fixture.authorizer = Denying(no_idempotence, (Operation.WRITE, Resource.topic("a")))
        assert (await fixture.ask(init_producer_id, 4, request)).error_code == 0
        fixture.authorizer = Denying(no_idempotence, (Operation.WRITE, ResourceType.TOPIC))
        assert (await fixture.ask(init_producer_id, 4, request)).error_code == 31
        fixture.authorizer = Denying((Operation.WRITE, ResourceType.TOPIC))
        assert (await fixture.ask(init_producer_id, 4, request)).error_code == 0


async def test_a_transactional_id_is_asked_for_before_all_else() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.WRITE, Resource.transactional_id("x")))
        request = InitProducerIdRequest(transactional_id="x", producer_id=5)
        assert (await fixture.ask(init_producer_id, 4, request)).error_code == 53


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_has_one_producer_at_a_time(version: int) -> None:
    broker = TransactionHandlers()
    request = InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000)
    for epoch in range(2):
        answer = broker.ask(request, version)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 1000, epoch)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_producer_that_is_not_who_it_takes_itself_for(version: int) -> None:
    broker = TransactionHandlers()
    former = broker.fenced()
    request = InitProducerIdRequest("id", 1000, former.id + 7, former.epoch)
    assert broker.ask(request, version).error_code == (FENCED if version >= 4 else OLD_FENCED)


@pytest.mark.parametrize(
    ("name", "timeout_ms", "error"), [("", 1000, 42), ("x", 0, 50), ("x", 900_001, 50), ("x", 900_000, 0)]
)
def test_what_transactional_producers_may_ask(name: str, timeout_ms: int, error: int) -> None:
    answer = TransactionHandlers().ask(InitProducerIdRequest(name, timeout_ms), 5)
    assert answer.error_code == error


@pytest.mark.parametrize("keep_prepared_txn", [False, True])
@pytest.mark.parametrize("enable_2pc", [False, True])
def test_two_phase_commit_is_not_served(enable_2pc: bool, keep_prepared_txn: bool) -> None:
    """The version that can ask for it is not stable: the connection ends, as with Kafka 4.3."""
    request = InitProducerIdRequest("x", 1000, enable_2pc=enable_2pc, keep_prepared_txn=keep_prepared_txn)
    frame = memoryview(bytearray(request_frame(request, 6, 1, "me")[4:]))
    dispatcher = Dispatcher(services_of(served=SERVED, clock=VirtualClock(), features=Finalized()))
    assert dispatcher.on_frame(PEER, frame) is CLOSE
    if enable_2pc or keep_prepared_txn:
        with pytest.raises(ValueError, match="no place for"):
            request_frame(request, 5, 1, "me")
