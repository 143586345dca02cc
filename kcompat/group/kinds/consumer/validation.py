"""What is wrong with a heartbeat whatever the state of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.modern.epochs import JOIN, LEAVE, LEAVE_FOR_A_WHILE
from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.group.kinds.consumer.requests import HeartbeatRequest


def request_refusal(request: HeartbeatRequest, assignors: Sequence[str]) -> Refusal | None:
    """The first thing that is wrong, in Kafka's order."""
    message = _what_is_missing(request) or _what_is_wrong(request)
    if message is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}.",
        )
    return None


def _what_is_missing(request: HeartbeatRequest) -> str | None:
    has_id = request.needs_member_id or request.member_epoch > JOIN or request.member_epoch == LEAVE
    if has_id and not request.member_id.strip():
        return "MemberId can't be empty."
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            return f"{name} can't be empty."
    return None


def _what_is_wrong(request: HeartbeatRequest) -> str | None:
    if request.member_epoch == JOIN:
        if request.rebalance_timeout_ms == -1:
            return "RebalanceTimeoutMs must be provided in first request."
        if request.owned is None or request.owned:
            return "TopicPartitions must be empty when (re-)joining."
        if request.subscribed_topics is None and request.subscribed_regex is None:
            return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    elif request.member_epoch == LEAVE_FOR_A_WHILE and request.instance_id is None:
        return "InstanceId can't be null."
    elif request.member_epoch < LEAVE_FOR_A_WHILE:
        return "MemberEpoch is invalid."
    return None
