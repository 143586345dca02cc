"""ListPartitionReassignments (key 46), version 0 (KIP-455): list the partitions that are being reassigned.

Behaviour
- Each requested partition that is being reassigned is listed with its replicas, those that are being added
  and those that are being removed. Null topics request all partitions. Other partitions, also unknown ones,
  are left out.
- A broker that is not the controller answers NOT_CONTROLLER.
- A client that may not DESCRIBE the cluster gets the partitions that it requested, without replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.controller.state import ControlledPartition
    from kcompat.promise import Promise

TopicAnswer = ListPartitionReassignmentsResponse.OngoingTopicReassignment
Answer = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def handle(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse | Promise[ListPartitionReassignmentsResponse]:
    """Return the reassignments that the controller in this process knows."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        named = [
            TopicAnswer(topic.name, [Answer(index) for index in topic.partition_indexes])
            for topic in request.topics or ()
        ]
        return _refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, named)
    requested = None
    if request.topics is not None:
        requested = [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    return context.services.cluster.decisions.reassignments(requested).map(_response)


def _response(
    found: Mapping[tuple[str, int], ControlledPartition] | ErrorCode,
) -> ListPartitionReassignmentsResponse:
    if isinstance(found, ErrorCode):
        return _refusal(found)
    topics: dict[str, TopicAnswer] = {}
    for (topic, index), partition in found.items():
        row = topics.setdefault(topic, TopicAnswer(topic))
        row.partitions.append(
            Answer(index, list(partition.replicas), list(partition.adding), list(partition.removing))
        )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))


def _refusal(error: ErrorCode, named: Sequence[TopicAnswer] = ()) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        error_code=error, error_message=error.message, topics=list(named)
    )
