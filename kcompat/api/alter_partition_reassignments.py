"""AlterPartitionReassignments (key 45), versions 0-1 (KIP-455): partitions move to other replicas.

Behaviour
- Each move begins or fails by itself. The response is sent when the moves have begun; a move lasts until the
  new replicas are in sync.
- Null replicas cancel a move, or get NO_REASSIGNMENT_IN_PROGRESS without a move. A new move replaces the one
  under way.
- INVALID_REPLICA_ASSIGNMENT refuses an empty list, repeated or negative ids, new replicas whose brokers are
  not live, and a move that would leave no replica in sync. (Kafka accepts the last and loses the partition.)
- Brokers that are not the controller answer NOT_CONTROLLER for the whole request. A client that may not ALTER
  the cluster has the error in every row as well.

Version notes
- 1: the client may require that the number of replicas stays the same (KIP-860), else
  INVALID_REPLICATION_FACTOR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.controller.values import TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
Answer = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse


def handle(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse | Promise[AlterPartitionReassignmentsResponse]:
    """Begin the moves through the controller in this process."""
    wanted = {
        (topic.name, row.partition_index): None if row.replicas is None else tuple(row.replicas)
        for topic in request.topics
        for row in topic.partitions
    }
    keeps_size = not request.allow_replication_factor_change

    def answered(
        outcomes: Mapping[tuple[str, int], TopicOutcome] | ErrorCode,
    ) -> AlterPartitionReassignmentsResponse:
        if isinstance(outcomes, ErrorCode):
            return _response({}, outcomes, keeps_size=keeps_size)
        return _response(outcomes, keeps_size=keeps_size)

    if not context.may(Operation.ALTER, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        denied = dict.fromkeys(wanted, TopicOutcome(error, error.message))
        return _response(denied, error, keeps_size=keeps_size)
    return context.services.cluster.decisions.reassign(wanted, keeps_size=keeps_size).map(answered)


def _response(
    outcomes: Mapping[tuple[str, int], TopicOutcome], error: ErrorCode = ErrorCode.NONE, *, keeps_size: bool
) -> AlterPartitionReassignmentsResponse:
    topics: dict[str, TopicAnswer] = {}
    for (topic, index), outcome in outcomes.items():
        row = topics.setdefault(topic, TopicAnswer(topic))
        row.partitions.append(Answer(index, outcome.error, outcome.message))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=not keeps_size,
        error_code=error,
        error_message=error.message if error else "",
        responses=list(topics.values()),
    )
