"""The handler of AllocateProducerIds."""

from __future__ import annotations

from kcompat.api import allocate_producer_ids
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture


async def test_blocks_follow_each_other() -> None:
    async with ClusterFixture() as fixture:
        _, stat = await fixture.session.get("/brokers/ids/1")
        request = AllocateProducerIdsRequest(1, stat.czxid)
        blocks = [await fixture.ask(allocate_producer_ids, 0, request) for _ in range(2)]
        assert [(block.error_code, block.producer_id_start, block.producer_id_len) for block in blocks] == [
            (0, 0, 1000),
            (0, 1000, 1000),
        ]


async def test_brokers_that_are_not_those_registered_get_none() -> None:
    async with ClusterFixture() as fixture:
        stale = await fixture.ask(allocate_producer_ids, 0, AllocateProducerIdsRequest(1, 999_999))
        assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
        unknown = await fixture.ask(allocate_producer_ids, 0, AllocateProducerIdsRequest(7, 1))
        assert unknown.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
        await fixture.controller_election.stop()
        elsewhere = await fixture.ask(allocate_producer_ids, 0, AllocateProducerIdsRequest(1, 1))
        assert elsewhere.error_code == ErrorCode.NOT_CONTROLLER


async def test_only_brokers_may_ask() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
        response = await fixture.ask(allocate_producer_ids, 0, AllocateProducerIdsRequest(1, 1))
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
