"""The handler of ListPartitionReassignments."""

from __future__ import annotations

from kcompat.api import list_partition_reassignments
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.controllers import answer

Asked = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
Listed = ListPartitionReassignmentsResponse.OngoingTopicReassignment
Row = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


async def test_what_is_on_the_move_is_listed() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("t")
        await fixture.register(2)
        await answer(fixture.decisions.reassign({("t", 0): (2, 1)}))
        for topics in (None, [Asked("t", [0, 5]), Asked("none", [0])]):
            request = ListPartitionReassignmentsRequest(topics=topics)
            response = await fixture.ask(list_partition_reassignments, 0, request)
            (topic,) = response.topics
            (row,) = topic.partitions
            assert (topic.name, row.partition_index) == ("t", 0)
            assert (row.replicas, row.adding_replicas, row.removing_replicas) == ([2, 1, 7], [2], [7])
        request = ListPartitionReassignmentsRequest(topics=[Asked("t", [5])])
        response = await fixture.ask(list_partition_reassignments, 0, request)
        assert (response.error_code, response.error_message, response.topics) == (0, "", [])


async def test_without_permission_nothing_is_said_of_what_was_named() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.DESCRIBE, CLUSTER))
        for topics in (None, [], [Asked("t", [0, 5])]):
            request = ListPartitionReassignmentsRequest(topics=topics)
            response = await fixture.ask(list_partition_reassignments, 0, request)
            assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert response.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message
            assert response.topics == [Listed("t", [Row(0), Row(5)])][: len(topics or ())]


async def test_without_a_controller_the_whole_is_refused() -> None:
    async with ClusterFixture() as fixture:
        await fixture.controller_election.stop()
        request = ListPartitionReassignmentsRequest(topics=[Asked("t", [0])])
        response = await fixture.ask(list_partition_reassignments, 0, request)
        assert (response.error_code, response.topics) == (ErrorCode.NOT_CONTROLLER, [])
        assert response.error_message == ErrorCode.NOT_CONTROLLER.message
