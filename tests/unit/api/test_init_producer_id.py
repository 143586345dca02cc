"""InitProducerId."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import (
    init_producer_id,
)
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import Denying
from support.cluster_world import ClusterWorld


@pytest.mark.parametrize("version", range(6))
async def test_producer_ids_come_one_after_the_other(version: int) -> None:
    async with ClusterWorld() as world:
        request = InitProducerIdRequest(transactional_id=None)
        responses = [await world.ask(init_producer_id, version, request) for _ in range(3)]
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
        ({"transactional_id": "", "transaction_timeout_ms": 1000}, 42),
        ({"transactional_id": "x", "transaction_timeout_ms": 0}, 50),
        ({"transactional_id": "x", "transaction_timeout_ms": 900_001}, 50),
        ({"transactional_id": "x", "transaction_timeout_ms": 900_000}, 16),
        ({"transactional_id": "x", "transaction_timeout_ms": 0, "producer_id": 5}, 42),
    ],
)
async def test_what_producers_may_ask(fields: dict[str, Any], error: int) -> None:
    async with ClusterWorld() as world:
        request = InitProducerIdRequest(**{"transactional_id": None, **fields})
        response = await world.ask(init_producer_id, 5, request)
        assert response.error_code == error
        assert (response.producer_id, response.producer_epoch) == ((0, 0) if error == 0 else (-1, -1))


async def test_without_a_transaction_any_topic_that_may_be_written_will_do() -> None:
    async with ClusterWorld() as world:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        no_idempotence = (Operation.IDEMPOTENT_WRITE, CLUSTER)
        world.authorizer = Denying(no_idempotence, (Operation.WRITE, Resource.topic("a")))
        assert (await world.ask(init_producer_id, 4, request)).error_code == 0
        world.authorizer = Denying(no_idempotence, (Operation.WRITE, ResourceType.TOPIC))
        assert (await world.ask(init_producer_id, 4, request)).error_code == 31
        world.authorizer = Denying((Operation.WRITE, ResourceType.TOPIC))
        assert (await world.ask(init_producer_id, 4, request)).error_code == 0


async def test_a_transactional_id_is_asked_for_before_all_else() -> None:
    async with ClusterWorld() as world:
        world.authorizer = Denying((Operation.WRITE, Resource.transactional_id("x")))
        request = InitProducerIdRequest(transactional_id="x", producer_id=5)
        assert (await world.ask(init_producer_id, 4, request)).error_code == 53
