"""ElectLeaders (key 43), versions 0-2 (KIP-183, KIP-460).

Behaviour
- A preferred election elects the preferred replica, if it is live and in sync, else the partition gets
  PREFERRED_LEADER_NOT_AVAILABLE. An unclean election is for partitions without a live leader: it elects the
  first live replica, in sync or not; without one the partition gets ELIGIBLE_LEADERS_NOT_AVAILABLE.
- A partition that has the right leader gets ELECTION_NOT_NEEDED, or is left out if all partitions are
  requested.
- The response is sent when the new leaders are in the metadata image of the controller's broker.
- A broker that is not the controller answers NOT_CONTROLLER for each partition.

Version notes
- 0: preferred elections only, and no top-level error. 1: the type of election. 2: flexible.

Difference to Kafka: an unknown type of election gets INVALID_REQUEST, as with KRaft; Kafka with ZooKeeper
answers UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.controller.values import ElectionType, TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_AN_ERROR = 1

TopicAnswer = ElectLeadersResponse.ReplicaElectionResult
Answer = ElectLeadersResponse.PartitionResult


def handle(
    context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse | Promise[ElectLeadersResponse]:
    """Elect leaders through the controller in this process."""
    requested = request.topic_partitions
    named = [(topic.topic, index) for topic in requested or () for index in topic.partitions]
    if not context.may(Operation.ALTER, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _refusal(context, named, error)
    try:
        kind = ElectionType(request.election_type)
    except ValueError:
        return _refusal(context, named, ErrorCode.INVALID_REQUEST)
    if requested is None:
        topics = context.services.cluster.metadata.image.topics.values()
        named = [(topic.name, index) for topic in topics for index in topic.partitions]

    def answered(outcomes: Mapping[tuple[str, int], TopicOutcome]) -> ElectLeadersResponse:
        if requested is None:
            needless = ErrorCode.ELECTION_NOT_NEEDED
            outcomes = {key: outcome for key, outcome in outcomes.items() if outcome.error != needless}
        return _response(outcomes)

    return context.services.cluster.decisions.elect_leaders(kind, named).map(answered)


def _refusal(
    context: RequestContext, partitions: Sequence[tuple[str, int]], error: ErrorCode
) -> ElectLeadersResponse:
    response = _response(dict.fromkeys(partitions, TopicOutcome(error)))
    if context.api_version >= FIRST_WITH_AN_ERROR:
        response.error_code = error
    return response


def _response(outcomes: Mapping[tuple[str, int], TopicOutcome]) -> ElectLeadersResponse:
    topics: dict[str, TopicAnswer] = {}
    for (topic, index), outcome in outcomes.items():
        row = topics.setdefault(topic, TopicAnswer(topic))
        row.partition_result.append(Answer(index, outcome.error, outcome.message))
    return ElectLeadersResponse(replica_election_results=list(topics.values()))
