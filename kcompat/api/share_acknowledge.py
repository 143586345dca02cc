"""ShareAcknowledge (key 79), versions 1-2: a member accepts, releases or rejects its records (KIP-932).

Behaviour
- The client needs READ on the group, and on each topic. The request continues the member's share session.
  Epoch -1 ends the session and releases the member's records; epoch 0 gets INVALID_SHARE_SESSION_EPOCH.
- The response is sent once the share coordinator has stored the acknowledgements. `share_members` has the
  rules in common with ShareFetch.

Version notes
- 1: the first stable version. 2: renewal of acquisition locks (KIP-1222), and the duration of a lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import current_leader, endpoints
from kcompat.api.share_members import SERVED_ELSEWHERE, acknowledge, end_session, refusal_of
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kcompat.share.sessions import FINAL_EPOCH, ShareSessionKey

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.api.share_members import Outcomes
    from kcompat.promise import Promise

TopicAnswer = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse
Answer = ShareAcknowledgeResponse.PartitionData


def handle(
    context: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse | Promise[ShareAcknowledgeResponse]:
    """Apply the member's acknowledgements."""
    refusal = refusal_of(context, request.group_id, request.member_id)
    if refusal:
        return ShareAcknowledgeResponse(error_code=refusal)
    assert request.group_id is not None
    assert request.member_id is not None
    services, epoch = context.services, request.share_session_epoch
    member = ShareSessionKey(request.group_id, request.member_id)
    error = services.coordinators.share_sessions.acknowledge(member, epoch)
    if error:
        return ShareAcknowledgeResponse(error_code=error)
    session = services.coordinators.share_sessions.find(member)
    assert session is not None

    def answer(outcomes: Outcomes) -> ShareAcknowledgeResponse:
        if epoch == FINAL_EPOCH:
            end_session(services, session)
        return _response(context, member, outcomes)

    return acknowledge(context, member, request.topics, renews=request.is_renew_ack).map(answer)


def _response(
    context: RequestContext, member: ShareSessionKey, outcomes: Outcomes
) -> ShareAcknowledgeResponse:
    topics: dict[bytes, TopicAnswer] = {}
    leaders: list[int] = []
    for (topic_id, index), outcome in outcomes.items():
        row = Answer(partition_index=index, error_code=outcome.error, error_message=outcome.message)
        if outcome.error in SERVED_ELSEWHERE:
            name = context.services.cluster.metadata.image.topic_names.get(topic_id, "")
            row.current_leader = ShareAcknowledgeResponse.LeaderIdAndEpoch(
                *current_leader(context, name, index)
            )
            leaders.append(row.current_leader.leader_id)
        topics.setdefault(topic_id, TopicAnswer(topic_id)).partitions.append(row)
    limits = context.services.coordinators.share_partitions.settings.limits(member.group_id)
    return ShareAcknowledgeResponse(
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=limits.record_lock_duration_ms,
        responses=list(topics.values()),
        node_endpoints=[ShareAcknowledgeResponse.NodeEndpoint(*each) for each in endpoints(context, leaders)],
    )
