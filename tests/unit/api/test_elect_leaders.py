"""The handler of ElectLeaders."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import elect_leaders
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.controllers import answer

Asked = ElectLeadersRequest.TopicPartitions


def rows(response: Any) -> dict[tuple[str, int], tuple[int, str | None]]:
    return {
        (topic.topic, row.partition_id): (row.error_code, row.error_message)
        for topic in response.replica_election_results
        for row in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
async def test_preferred_leaders(version: int) -> None:
    async with ClusterFixture() as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        await fixture.create_with_dead_replica("u")
        request = ElectLeadersRequest(topic_partitions=[Asked("t", [0, 7]), Asked("u", [0])])
        response = await fixture.ask(elect_leaders, version, request)
        assert rows(response) == {
            ("t", 0): (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."),
            ("t", 7): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
            ("u", 0): (
                ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
                "Failed to elect leader for partition u-0 "
                "under strategy PreferredReplicaPartitionLeaderElectionStrategy",
            ),
        }


async def test_for_all_partitions_those_that_are_well_led_are_left_out() -> None:
    async with ClusterFixture() as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 2, 1)]))
        await fixture.create_with_dead_replica("u")
        response = await fixture.ask(elect_leaders, 2, ElectLeadersRequest(topic_partitions=None))
        assert list(rows(response)) == [("u", 0)]


async def test_unclean_leaders() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("u", isr=[7])
        request = ElectLeadersRequest(election_type=1, topic_partitions=[Asked("u", [0])])
        assert rows(await fixture.ask(elect_leaders, 2, request)) == {("u", 0): (0, None)}
        partition = fixture.cluster.image.topics["u"].partitions[0]
        assert (partition.leader, partition.isr) == (1, (1,))


async def test_an_unknown_kind_no_permission_and_no_controller() -> None:
    async with ClusterFixture() as fixture:
        request = ElectLeadersRequest(election_type=9, topic_partitions=[Asked("t", [0])])
        response = await fixture.ask(elect_leaders, 2, request)
        assert response.error_code == ErrorCode.INVALID_REQUEST
        request.election_type = 0
        await fixture.controller_election.stop()
        assert rows(await fixture.ask(elect_leaders, 2, request)) == {
            ("t", 0): (ErrorCode.NOT_CONTROLLER, None)
        }
        fixture.authorizer = Denying((Operation.ALTER, CLUSTER))
        response = await fixture.ask(elect_leaders, 2, request)
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert rows(response) == {("t", 0): (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)}
        oldest = await fixture.ask(elect_leaders, 0, request)
        assert rows(oldest) == rows(response)
