"""FindCoordinator (key 10), versions 0-6.

Behaviour
- A group's coordinator is the leader of the group's partition of `__consumer_offsets`; the coordinator of a
  transactional id is the leader of the id's partition of `__transaction_state`. If the topic is missing, it
  is created first and the response waits for it. Kafka answers COORDINATOR_NOT_AVAILABLE, and the client
  retries.
- A coordinator that was just killed is not named. If this broker has lost its connection to the coordinator,
  the response waits for the controller's decision, for at most a second, and then is
  COORDINATOR_NOT_AVAILABLE (`kcompat.api.coordinator_check`). Kafka names the coordinator until its session
  ends.
- Brokers look up share coordinators with keys of the form `group:topic id:partition`: the coordinator is the
  leader of the key's partition of `__share_group_state`.

Version notes
- 0: groups only. 1: key types (KIP-98); an unknown type gets INVALID_REQUEST. 4: several keys (KIP-699). 6:
  share coordinators (KIP-932), whose key type older versions refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import reachable_brokers
from kcompat.api.group_protocols import serves_share_groups
from kcompat.coordinator.partitioning import partition_for
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from kcompat.share.key import SharePartitionKey
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import PartitionInfo
    from kcompat.promise import Promise

FIRST_WITH_BATCH = 4
FIRST_WITH_SHARE = 6

GROUP = 0
TRANSACTION = 1
SHARE = 2

Coordinator = FindCoordinatorResponse.Coordinator

TOPICS = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE, SHARE: SHARE_GROUP_STATE}

_GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TRANSACTION_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_SHARE_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_NO_COORDINATOR = (-1, ("", -1))


def handle(context: RequestContext, request: FindCoordinatorRequest) -> Promise[FindCoordinatorResponse]:
    """Return the coordinator of each key."""
    topic = TOPICS.get(request.key_type)
    if (
        topic is None
        or topic in context.services.cluster.metadata.image.topics
        or all(_refusal(context, request.key_type, key) for key in _keys(context, request))
    ):
        return _once_settled(context, request)
    creating = context.services.cluster.decisions.ensure_topics([topic])
    return creating.flat_map(lambda _: _once_settled(context, request))


def _once_settled(
    context: RequestContext, request: FindCoordinatorRequest
) -> Promise[FindCoordinatorResponse]:
    return context.services.coordinators.coordinator_check.once_settled(
        lambda: _coordinators(context, request), lambda: _response(context, request)
    )


def _coordinators(context: RequestContext, request: FindCoordinatorRequest) -> set[int]:
    """Return the coordinators of the keys that the metadata image names to the client, including dead
    brokers.
    """
    known = reachable_brokers(context).keys() | context.services.cluster.metadata.image.presumed_dead.keys()
    partitions = [
        _partition(context, request.key_type, key)
        for key in _keys(context, request)
        if _refusal(context, request.key_type, key) is None
    ]
    return {each.leader for each in partitions if each is not None and each.leader in known}


def _keys(context: RequestContext, request: FindCoordinatorRequest) -> list[str]:
    return request.coordinator_keys if context.api_version >= FIRST_WITH_BATCH else [request.key]


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
    """Return the row of a key. As in Kafka, only a refused key type has a message."""
    error, node_id, (host, port) = _find(context, key_type, key)
    message = error.message if error == ErrorCode.INVALID_REQUEST else ""
    return Coordinator(
        key=key, node_id=node_id, host=host, port=port, error_code=error, error_message=message
    )


def _refusal(context: RequestContext, key_type: int, key: str) -> ErrorCode | None:
    """Return the error to send instead of the coordinator of a key, or None."""
    if key_type == GROUP:
        allowed, error = context.may(Operation.DESCRIBE, Resource.group(key)), _GROUP_DENIED
    elif key_type == TRANSACTION:
        allowed, error = context.may(Operation.DESCRIBE, Resource.transactional_id(key)), _TRANSACTION_DENIED
    elif key_type != SHARE or context.api_version < FIRST_WITH_SHARE:
        return ErrorCode.INVALID_REQUEST
    else:
        allowed, error = context.may(Operation.CLUSTER_ACTION, CLUSTER), _SHARE_DENIED
        if allowed and _share_partition(key) is None:
            return ErrorCode.INVALID_REQUEST
        if allowed and not serves_share_groups(context.services):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return None if allowed else error


def _share_partition(key: str) -> str | None:
    """Return the normalized key of a share partition, or None if the key is malformed."""
    try:
        return SharePartitionKey.parse(key).coordinator_key
    except ValueError:
        return None


def _find(context: RequestContext, key_type: int, key: str) -> tuple[ErrorCode, int, tuple[str, int]]:
    """Return the coordinator of a key: an error, the broker's id, and its host and port."""
    refusal = _refusal(context, key_type, key)
    if refusal is not None:
        return (refusal, *_NO_COORDINATOR)
    partition = _partition(context, key_type, key)
    endpoint = None if partition is None else reachable_brokers(context).get(partition.leader)
    if (
        partition is None
        or endpoint is None
        or not context.services.coordinators.coordinator_check.may_name(partition.leader)
    ):
        return (ErrorCode.COORDINATOR_NOT_AVAILABLE, *_NO_COORDINATOR)
    if key_type == GROUP:
        context.services.coordinators.groups.note_find_coordinator(context.connection, key)
    return ErrorCode.NONE, partition.leader, endpoint


def _partition(context: RequestContext, key_type: int, key: str) -> PartitionInfo | None:
    """Return the partition that keeps the state of a key, or None if it is unknown."""
    topic = context.services.cluster.metadata.image.topics.get(TOPICS[key_type])
    if topic is None:
        return None
    hashed = _share_partition(key) or key if key_type == SHARE else key
    return topic.partitions.get(partition_for(hashed, len(topic.partitions)))
