"""FindCoordinator (key 10), versions 0-6.

Behaviour
- The coordinator of a group is the leader of its partition of `__consumer_offsets`. Where that topic is
  missing it is created first and the answer waits for it; Kafka answers COORDINATOR_NOT_AVAILABLE and has the
  client ask again.
- Not done: transactions. A transactional id gets COORDINATOR_NOT_AVAILABLE, which clients retry until their
  own timeout. Share groups are off, as by default in Kafka 3.9, with the same answer.

Version notes
- 0: groups only. 1: key types (KIP-98); any other is INVALID_REQUEST. 4: several keys (KIP-699). 6: share
  coordinators (KIP-932), a key type that older versions refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import reachable_brokers
from kcompat.coordinator.placement import partition_for
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kcompat.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

FIRST_WITH_BATCH = 4
FIRST_WITH_SHARE = 6

GROUP = 0
TRANSACTION = 1
SHARE = 2

Coordinator = FindCoordinatorResponse.Coordinator

_NOBODY = (-1, ("", -1))


def handle(
    context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Promise[FindCoordinatorResponse]:
    """Say who coordinates each key."""
    if request.key_type != GROUP or CONSUMER_OFFSETS in context.services.cluster.image.topics:
        return _response(context, request)
    answer: Promise[FindCoordinatorResponse] = Promise()
    creating = context.services.controller.ensure_topics([CONSUMER_OFFSETS])
    creating.then(lambda _: answer.complete(_response(context, request)))
    return answer


def _response(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.api_version >= FIRST_WITH_BATCH:
        return FindCoordinatorResponse(
            coordinators=[_row(context, request.key_type, key) for key in request.coordinator_keys]
        )
    error, node_id, (host, port) = _find(context, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=error,
        error_message=error.message if error else "NONE",
        node_id=node_id,
        host=host,
        port=port,
    )


def _row(context: RequestContext, key_type: int, key: str) -> Coordinator:
    """One of several answers. Like Kafka's, only a refused key type comes with a message."""
    error, node_id, (host, port) = _find(context, key_type, key)
    message = error.message if error is ErrorCode.INVALID_REQUEST else ""
    return Coordinator(
        key=key, node_id=node_id, host=host, port=port, error_code=error, error_message=message
    )


def _find(context: RequestContext, key_type: int, key: str) -> tuple[ErrorCode, int, tuple[str, int]]:
    """Who coordinates a key: id, host and port, or an error."""
    known = (GROUP, TRANSACTION, SHARE) if context.api_version >= FIRST_WITH_SHARE else (GROUP, TRANSACTION)
    if key_type not in known:
        return (ErrorCode.INVALID_REQUEST, *_NOBODY)
    topic = context.services.cluster.image.topics.get(CONSUMER_OFFSETS)
    if key_type != GROUP or topic is None:
        return (ErrorCode.COORDINATOR_NOT_AVAILABLE, *_NOBODY)
    leader = topic.partitions[partition_for(key, len(topic.partitions))].leader
    endpoint = reachable_brokers(context).get(leader)
    if endpoint is None:
        return (ErrorCode.COORDINATOR_NOT_AVAILABLE, *_NOBODY)
    return ErrorCode.NONE, leader, endpoint
