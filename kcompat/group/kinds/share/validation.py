"""What is wrong with a heartbeat of a share group whatever the state of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.modern.epochs import JOIN, LEAVE
from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.kinds.share.requests import ShareHeartbeatRequest


def request_refusal(request: ShareHeartbeatRequest) -> Refusal | None:
    """The first thing that is wrong, in Kafka's order."""
    message = None
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            message = message or f"{name} can't be empty."
    if message is None and request.member_epoch == JOIN and not request.subscribed_topics:
        message = "SubscribedTopicNames must be set in first request."
    if message is None and request.member_epoch < LEAVE:
        message = "MemberEpoch is invalid."
    return None if message is None else Refusal(ErrorCode.INVALID_REQUEST, message)
