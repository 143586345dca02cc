"""LeaderAndIsr (key 4), versions 0-7: the controller names the leader and the in-sync replicas of partitions
of this broker.

Behaviour
- Only the controller sends the request (CLUSTER_ACTION). A request for a former registration of this broker
  gets STALE_BROKER_EPOCH, a request of a former controller STALE_CONTROLLER_EPOCH, in every row too.
- An illegal topic name or a negative index gets INVALID_TOPIC_EXCEPTION, because directories are named after
  both; no controller sends them.
- The configs of a topic that is not in this broker's image yet are read before its roles are taken, because
  the creation of a topic sends no config update.
- `replication.local_broker` describes which roles are taken, and in which order. Every partition has a row.

Versions
- 0 and 1 name the topic in every partition; 1 adds `is_new`; 2 groups by topic and has the broker epoch
  (KIP-380); 3 adds the replicas of a reassignment (KIP-455); 5 has topic ids in requests and responses
  (KIP-516); 6 adds the recovery state of leaders (KIP-704); 7 marks KRaft controllers (KIP-866).

Not implemented: the migration to KRaft. Requests of KRaft controllers are served as those of any other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.api.controller_requests import execute, refusal_of
from kcompat.cluster.control_requests import Reply
from kcompat.peer import leader_and_isr
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import SessionExpiredError
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.cluster.control_requests import AssignedPartition, LeaderAndIsr
    from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse


def handle(
    context: RequestContext, request: LeaderAndIsrRequest
) -> LeaderAndIsrResponse | Promise[LeaderAndIsrResponse]:
    """Read the configs of the topics, then take the roles."""
    control = leader_and_isr.control_request_of(request, context.services.server.config.inter_broker_listener)
    illegal = {
        (each.topic, each.index): ErrorCode.INVALID_TOPIC_EXCEPTION
        for each in control.partitions
        if each.index < 0 or name_problem(each.topic)
    }
    respond = partial(_response, control.partitions, illegal, context.api_version)
    refused = refusal_of(context, request.broker_epoch)
    if refused:
        return respond(Reply(refused))
    legal = [each for each in control.partitions if (each.topic, each.index) not in illegal]
    replied: Promise[Reply] = Promise()
    context.services.cluster.configs.ensure({each.topic for each in legal}).then(
        partial(_take_roles, context, replace(control, partitions=legal), replied),
        partial(_fail_without_configs, replied),
    )
    return replied.map(respond)


def _take_roles(context: RequestContext, control: LeaderAndIsr, replied: Promise[Reply], _: None) -> None:
    execute(context, control).then(replied.complete, replied.fail)


def _fail_without_configs(replied: Promise[Reply], error: Exception) -> None:
    if isinstance(error, SessionExpiredError):
        # The registration ended with the session. A controller sends every role to the next registration.
        replied.complete(Reply(ErrorCode.STALE_BROKER_EPOCH))
    else:
        replied.fail(error)


def _response(
    partitions: Sequence[AssignedPartition],
    illegal: Mapping[tuple[str, int], ErrorCode],
    version: int,
    reply: Reply,
) -> LeaderAndIsrResponse:
    errors = Reply(reply.error, {**reply.partitions, **illegal})
    return leader_and_isr.response_of(partitions, errors, version)
