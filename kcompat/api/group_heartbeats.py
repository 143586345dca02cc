"""The responses of ConsumerGroupHeartbeat and ShareGroupHeartbeat, which have the same fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat.api.failures import note_modern_member
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
    from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

Response = TypeVar("Response", ConsumerGroupHeartbeatResponse, ShareGroupHeartbeatResponse)


def heartbeat_response(
    kind: type[Response],
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest,
    answer: HeartbeatAnswer,
) -> Response:
    """Return the coordinator's answer as a response of class `kind`."""
    if answer.error:
        note_modern_member(context, request, answer)
    assigned = answer.assigned
    return kind(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=None
        if assigned is None
        else kind.Assignment(
            [kind.TopicPartitions(topic_id, list(indexes)) for topic_id, indexes in assigned.items()]
        ),
    )
