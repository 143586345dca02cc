"""The handler of AlterPartitionReassignments."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import alter_partition_reassignments
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture

Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
Row = AlterPartitionReassignmentsRequest.ReassignablePartition


def request_of(*rows: Row, **fields: Any) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(topics=[Topic("t", list(rows))], **fields)


def errors(response: Any) -> list[int]:
    return [row.error_code for topic in response.responses for row in topic.partitions]


@pytest.mark.parametrize("version", range(2))
async def test_a_move_to_what_is_in_sync_is_done_at_once(version: int) -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("t")
        request = request_of(Row(0, [1]), Row(5, [1]), Row(6, None), Row(7, [1, 1]))
        response = await fixture.ask(alter_partition_reassignments, version, request)
        assert (response.error_code, response.error_message) == (0, "")
        assert errors(response) == [
            0,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ]
        assert fixture.cluster.image.topics["t"].partitions[0].replicas == (1,)


async def test_a_client_that_insists_on_the_number_of_replicas() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("t")
        request = request_of(Row(0, [1]), allow_replication_factor_change=False)
        response = await fixture.ask(alter_partition_reassignments, 1, request)
        assert errors(response) == [ErrorCode.INVALID_REPLICATION_FACTOR]
        assert not response.allow_replication_factor_change


async def test_without_permission_the_whole_and_each_partition_is_refused() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.ALTER, CLUSTER))
        response = await fixture.ask(alter_partition_reassignments, 0, request_of(Row(0, [1]), Row(3, None)))
        (topic,) = response.responses
        for answer in (response, *topic.partitions):
            assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert answer.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message


async def test_without_a_controller_the_whole_is_refused() -> None:
    async with ClusterFixture() as fixture:
        await fixture.controller_election.stop()
        for rows in ([Row(0, [1])], []):
            response = await fixture.ask(alter_partition_reassignments, 0, request_of(*rows))
            assert (response.error_code, response.responses) == (ErrorCode.NOT_CONTROLLER, [])
            assert response.error_message == ErrorCode.NOT_CONTROLLER.message
