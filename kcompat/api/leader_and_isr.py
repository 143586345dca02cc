"""LeaderAndIsr (key 4), versions 0-7: the controller says who leads partitions of this broker, and who is in
sync.

Behaviour
- The controller alone sends it (CLUSTER_ACTION). A request for a former registration of this broker is
  answered STALE_BROKER_EPOCH, one of a former controller STALE_CONTROLLER_EPOCH, in every row too.
- A topic name that is not legal, or an index below 0, is answered INVALID_TOPIC_EXCEPTION: directories are
  named after them, and no controller sends such.
- The configs of a topic that this broker does not show yet are read before its roles are taken: nobody tells
  of them when it is created.
- What is taken, and in which order, is said of `replication.local_broker`. Every partition has its row.

Versions
- 0 and 1 name the topic in every partition; 1 adds `is_new`; 2 groups by topic and has the broker epoch
  (KIP-380); 3 adds the replicas of a reassignment (KIP-455); 5 has topic ids, and answers by them (KIP-516);
  6 adds the recovery state of leaders (KIP-704); 7 tells of KRaft controllers (KIP-866).

Not done: the migration to KRaft, so requests of KRaft controllers are taken as those of any other.
"""

from __future__ import annotations

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
    from kcompat.api.context import RequestContext
    from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse


def handle(
    context: RequestContext, request: LeaderAndIsrRequest
) -> LeaderAndIsrResponse | Promise[LeaderAndIsrResponse]:
    """Take the roles."""
    news = leader_and_isr.control_request_of(request, context.services.server.config.inter_broker_listener)

    illegal = {
        (each.topic, each.index): ErrorCode.INVALID_TOPIC_EXCEPTION
        for each in news.partitions
        if each.index < 0 or name_problem(each.topic)
    }

    def response(reply: Reply) -> LeaderAndIsrResponse:
        failed = Reply(reply.error, {**reply.partitions, **illegal})
        return leader_and_isr.response_of(news.partitions, failed, context.api_version)

    refused = refusal_of(context, request.broker_epoch)
    if refused:
        return response(Reply(refused))
    legal = [each for each in news.partitions if (each.topic, each.index) not in illegal]
    taken: Promise[LeaderAndIsrResponse] = Promise()

    def take(_: None) -> None:
        told = execute(context, replace(news, partitions=legal))
        told.then(lambda reply: taken.complete(response(reply)), taken.fail)

    def unheard(error: Exception) -> None:
        if isinstance(error, SessionExpiredError):
            # The registration went with the session: a controller tells all of it to the next one.
            taken.complete(response(Reply(ErrorCode.STALE_BROKER_EPOCH)))
        else:
            taken.fail(error)

    context.services.cluster.configs.ensure({each.topic for each in legal}).then(take, unheard)
    return taken
