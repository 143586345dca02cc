"""ListPartitionReassignments."""

from __future__ import annotations

from kcompat.api import list_partition_reassignments
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_world import ClusterWorld
from support.controller_world import answer

Asked = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics


async def test_what_is_on_the_move_is_listed() -> None:
    async with ClusterWorld() as world:
        await world.create_with_dead_replica("t")
        await world.register(2)
        await answer(world.decisions.reassign({("t", 0): (2, 1)}))
        for topics in (None, [Asked("t", [0, 5]), Asked("none", [0])]):
            request = ListPartitionReassignmentsRequest(topics=topics)
            response = await world.ask(list_partition_reassignments, 0, request)
            (topic,) = response.topics
            (row,) = topic.partitions
            assert (topic.name, row.partition_index) == ("t", 0)
            assert (row.replicas, row.adding_replicas, row.removing_replicas) == ([2, 1, 7], [2], [7])
        request = ListPartitionReassignmentsRequest(topics=[Asked("t", [5])])
        assert not (await world.ask(list_partition_reassignments, 0, request)).topics


async def test_no_permission_and_no_controller() -> None:
    async with ClusterWorld() as world:
        await world.candidacy.stop()
        request = ListPartitionReassignmentsRequest(topics=None)
        response = await world.ask(list_partition_reassignments, 0, request)
        assert response.error_code == ErrorCode.NOT_CONTROLLER
        world.authorizer = Denying((Operation.DESCRIBE, CLUSTER))
        response = await world.ask(list_partition_reassignments, 0, request)
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
