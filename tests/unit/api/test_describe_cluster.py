"""The handler of DescribeCluster."""

from __future__ import annotations

import pytest

from kcompat.api import (
    describe_cluster,
)
from kcompat.protocol.messages.describe_cluster import DescribeClusterRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import LOCAL_ADDRESS, Denying
from support.cluster_of_one import ClusterFixture
from support.cluster_questions import (
    ALL_OF_CLUSTER,
    with_a_dead_broker,
)


@pytest.mark.parametrize("version", range(3))
async def test_describe_cluster(version: int) -> None:
    async with ClusterFixture() as fixture:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        response = await fixture.ask(describe_cluster, version, request)
        assert (response.error_code, response.cluster_id, response.controller_id) == (0, "the-cluster", 1)
        (broker,) = response.brokers
        assert (broker.broker_id, broker.host, broker.port, broker.rack) == (1, *LOCAL_ADDRESS, "r1")
        assert not broker.is_fenced
        assert response.cluster_authorized_operations == ALL_OF_CLUSTER


async def test_a_broker_whose_process_has_ended_is_listed_as_metadata_lists_it() -> None:
    async with ClusterFixture() as fixture:
        with_a_dead_broker(fixture)
        response = await fixture.ask(describe_cluster, 2, DescribeClusterRequest())
        own = fixture.cluster.image.brokers[1].endpoints["PLAINTEXT"]
        rows = [(each.broker_id, each.host, each.port, each.rack) for each in response.brokers]
        assert rows == [(1, *own, "r1"), (2, "h2", 9092, "r2")]


async def test_before_the_controller_has_spoken_a_broker_shows_itself_and_takes_its_time() -> None:
    async with ClusterFixture() as fixture:
        fixture.forget_controller()
        response = await fixture.waited_in_vain(fixture.ask(describe_cluster, 1, DescribeClusterRequest()))
        assert ([broker.broker_id for broker in response.brokers], response.controller_id) == ([1], -1)


@pytest.mark.parametrize(
    ("endpoint_type", "error", "message"),
    [
        (
            2,
            114,
            "The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        ),
        (3, 115, "Unsupported endpoint type 3"),
        (0, 115, "Unsupported endpoint type 0"),
    ],
)
async def test_describe_cluster_of_what_this_is_not(endpoint_type: int, error: int, message: str) -> None:
    async with ClusterFixture() as fixture:
        response = await fixture.ask(describe_cluster, 1, DescribeClusterRequest(endpoint_type=endpoint_type))
        assert (response.error_code, response.error_message) == (error, message)
        assert response.brokers == []


async def test_operations_are_those_allowed_and_none_for_who_may_not_describe() -> None:
    async with ClusterFixture() as fixture:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        fixture.authorizer = Denying((Operation.ALTER, CLUSTER))
        answer = await fixture.ask(describe_cluster, 1, request)
        assert answer.cluster_authorized_operations == ALL_OF_CLUSTER - (1 << Operation.ALTER)
        fixture.authorizer = Denying((Operation.DESCRIBE, CLUSTER))
        assert (await fixture.ask(describe_cluster, 1, request)).cluster_authorized_operations == 0
