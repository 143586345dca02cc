"""FindCoordinator (key 10), versions 0-6.

Behaviour
- The coordinator of a group is the leader of its partition of `__consumer_offsets`. Where that topic is
  missing it is created first and the answer waits for it; Kafka answers COORDINATOR_NOT_AVAILABLE and has the
  client ask again.
- Share groups are off and get COORDINATOR_NOT_AVAILABLE, as by default in Kafka 3.9.

Version notes
- 0: groups only. 1: key types (KIP-98); any other is INVALID_REQUEST. 4: several keys (KIP-699). 6: share
  coordinators (KIP-932), a key type that older versions refuse.

Not here yet: transactions. A transactional id gets UNSUPPORTED_VERSION and a message: an error that clients
do not retry, so a transactional producer fails at once and says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import reachable_brokers
from kcompat.coordinator.partitioning import partition_for
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from kcompat.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_BATCH = 4
FIRST_WITH_SHARE = 6

GROUP = 0
TRANSACTION = 1
SHARE = 2

Coordinator = FindCoordinatorResponse.Coordinator

WITHOUT_TRANSACTIONS = "Transactions are not served yet."

_GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TRANSACTION_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_SHARE_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_NOBODY = (-1, ("", -1))


def handle(
    context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Promise[FindCoordinatorResponse]:
    """Say who coordinates each key."""
    keys = request.coordinator_keys if context.api_version >= FIRST_WITH_BATCH else [request.key]
    if (
        request.key_type != GROUP
        or CONSUMER_OFFSETS in context.services.cluster.image.topics
        or all(_denial(context, GROUP, key) for key in keys)
    ):
        return _response(context, request)
    creating = context.services.decisions.ensure_topics([CONSUMER_OFFSETS])
    return creating.map(lambda _: _response(context, request))


def _response(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.api_version >= FIRST_WITH_BATCH:
        return FindCoordinatorResponse(
            coordinators=[_row(context, request.key_type, key) for key in request.coordinator_keys]
        )
    error, node_id, (host, port) = _find(context, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=error,
        error_message=_message(request.key_type, error) if error else "NONE",
        node_id=node_id,
        host=host,
        port=port,
    )


def _row(context: RequestContext, key_type: int, key: str) -> Coordinator:
    """One of several answers. Like Kafka's, it comes with a message only where the kind of key is refused."""
    error, node_id, (host, port) = _find(context, key_type, key)
    refused = error in (ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION)
    message = _message(key_type, error) if refused else ""
    return Coordinator(
        key=key, node_id=node_id, host=host, port=port, error_code=error, error_message=message
    )


def _message(key_type: int, error: ErrorCode) -> str:
    is_unserved = key_type == TRANSACTION and error == ErrorCode.UNSUPPORTED_VERSION
    return WITHOUT_TRANSACTIONS if is_unserved else error.message


def _denial(context: RequestContext, key_type: int, key: str) -> ErrorCode | None:
    """Why a client may not know who coordinates a key; None if it may."""
    if key_type == GROUP:
        allowed, error = context.may(Operation.DESCRIBE, Resource.group(key)), _GROUP_DENIED
    elif key_type == TRANSACTION:
        allowed, error = context.may(Operation.DESCRIBE, Resource.transactional_id(key)), _TRANSACTION_DENIED
    else:
        allowed, error = context.may(Operation.CLUSTER_ACTION, CLUSTER), _SHARE_DENIED
    return None if allowed else error


def _find(context: RequestContext, key_type: int, key: str) -> tuple[ErrorCode, int, tuple[str, int]]:
    """Who coordinates a key: id, host and port, or an error."""
    known = (GROUP, TRANSACTION, SHARE) if context.api_version >= FIRST_WITH_SHARE else (GROUP, TRANSACTION)
    if key_type not in known:
        return (ErrorCode.INVALID_REQUEST, *_NOBODY)
    denial = _denial(context, key_type, key)
    if denial is not None:
        return (denial, *_NOBODY)
    if key_type == TRANSACTION:
        return (ErrorCode.UNSUPPORTED_VERSION, *_NOBODY)
    topic = context.services.cluster.image.topics.get(CONSUMER_OFFSETS)
    if key_type != GROUP or topic is None:
        return (ErrorCode.COORDINATOR_NOT_AVAILABLE, *_NOBODY)
    partition = topic.partitions.get(partition_for(key, len(topic.partitions)))
    endpoint = None if partition is None else reachable_brokers(context).get(partition.leader)
    if partition is None or endpoint is None:
        return (ErrorCode.COORDINATOR_NOT_AVAILABLE, *_NOBODY)
    return ErrorCode.NONE, partition.leader, endpoint
