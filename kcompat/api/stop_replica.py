"""StopReplica (key 5), versions 0-4: the controller makes this broker stop replicas, and perhaps delete them.

Behaviour
- Only the controller sends the request (CLUSTER_ACTION). A request for a former registration of this broker
  gets STALE_BROKER_EPOCH, a request of a former controller STALE_CONTROLLER_EPOCH; both have no rows. A
  client without authorization has the error in every row too.
- A partition whose leader epoch is older than the one that this broker knows gets FENCED_LEADER_EPOCH. A
  partition without a replica here gets NONE.

Versions
- 0 names the topic in every partition; 1 groups by topic and has the broker epoch (KIP-380). Up to version 2
  one flag says whether to delete all partitions; 3 has a flag and a leader epoch for each partition
  (KIP-570). 4 marks KRaft controllers (KIP-866).
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
    """Stop the replicas, and delete those that the request marks."""
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
