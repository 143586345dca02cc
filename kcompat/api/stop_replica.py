"""StopReplica (key 5), versions 0-4: the controller has this broker stop serving partitions, and perhaps
delete them.

Behaviour
- The controller alone sends it (CLUSTER_ACTION). A request for a former registration of this broker is
  answered STALE_BROKER_EPOCH, one of a former controller STALE_CONTROLLER_EPOCH; neither has rows. A client
  that may not send it has the error in every row too.
- A partition whose leader epoch is older than what this broker knows is answered FENCED_LEADER_EPOCH, and one
  that is not here NONE.

Versions
- 0 names the topic in every partition; 1 groups by topic and has the broker epoch (KIP-380); up to 2 one flag
  says for all whether to delete; 3 has it and the leader epoch for each (KIP-570); 4 tells of KRaft
  controllers (KIP-866).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.controller_requests import execute, refusal_of
from kcompat.cluster.control_requests import Reply
from kcompat.peer import stop_replica
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext
    from kcompat.cluster.control_requests import StoppedPartition
    from kcompat.promise import Promise
    from kcompat.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse


def handle(
    context: RequestContext, request: StopReplicaRequest
) -> StopReplicaResponse | Promise[StopReplicaResponse]:
    """Stop the replicas."""
    control = stop_replica.control_request_of(request)
    refused = refusal_of(context, request.broker_epoch)
    if not refused:
        return execute(context, control).map(partial(_response, control.partitions))
    keys = ((each.topic, each.index) for each in control.partitions)
    has_rows = refused == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    reply = Reply(refused, dict.fromkeys(keys, refused))
    return stop_replica.response_of(control.partitions if has_rows else (), reply)


def _response(partitions: Sequence[StoppedPartition], reply: Reply) -> StopReplicaResponse:
    return stop_replica.response_of(() if reply.error else partitions, reply)
