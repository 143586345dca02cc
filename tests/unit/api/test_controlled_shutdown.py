"""The handler of ControlledShutdown."""

from __future__ import annotations

import pytest

from kcompat.api import controlled_shutdown
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.cluster_questions import with_a_world_of_three


@pytest.mark.parametrize("version", range(4))
async def test_a_single_broker_hands_nothing_over(version: int) -> None:
    async with ClusterFixture() as fixture:
        with_a_world_of_three(fixture)
        response = await fixture.ask(controlled_shutdown, version, ControlledShutdownRequest(1))
        assert (response.error_code, response.remaining_partitions) == (0, [])


async def test_what_nobody_else_can_lead_yet_is_named() -> None:
    async with ClusterFixture() as fixture:
        await fixture.register(8)
        await fixture.create_with_dead_replica("t")
        response = await fixture.ask(controlled_shutdown, 3, ControlledShutdownRequest(1))
        assert [(row.topic_name, row.partition_index) for row in response.remaining_partitions] == [("t", 0)]


async def test_brokers_that_are_not_there_and_no_controller() -> None:
    async with ClusterFixture() as fixture:
        response = await fixture.ask(controlled_shutdown, 3, ControlledShutdownRequest(7))
        assert response.error_code == ErrorCode.BROKER_NOT_AVAILABLE
        await fixture.controller_election.stop()
        response = await fixture.ask(controlled_shutdown, 3, ControlledShutdownRequest(1))
        assert response.error_code == ErrorCode.STALE_CONTROLLER_EPOCH


async def test_only_brokers_may_ask() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
        response = await fixture.ask(controlled_shutdown, 3, ControlledShutdownRequest(1))
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
