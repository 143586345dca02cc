"""What is wrong with a heartbeat of a streams group whatever the state of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.modern.epochs import JOIN, LEAVE_FOR_A_WHILE
from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.kinds.streams.requests import StreamsHeartbeatRequest
    from kcompat.group.kinds.streams.topology import Topology


def request_refusal(request: StreamsHeartbeatRequest) -> Refusal | None:
    """The first thing that is wrong, in Kafka's order."""
    message = _what_is_not_supported(request) or _what_is_empty(request)
    if message is None and request.member_epoch == JOIN:
        message = _what_a_joining_member_lacks(request)
        wrong = None if request.topology is None else _wrong_changelog(request.topology)
        if message is None and wrong is not None:
            return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, wrong)
    message = message or _what_is_wrong(request)
    return None if message is None else Refusal(ErrorCode.INVALID_REQUEST, message)


def _what_is_not_supported(request: StreamsHeartbeatRequest) -> str | None:
    topology = request.topology
    patterns = topology is not None and any(
        each.source_topic_regex for each in topology.subtopologies.values()
    )
    for is_wanted, message in (
        (request.instance_id is not None, "Static membership is not yet supported."),
        (request.tells_offsets, "TaskOffsets are not supported yet."),
        (request.tells_end_offsets, "TaskEndOffsets are not supported yet."),
        (bool(request.warmup), "WarmupTasks are not supported yet."),
        (patterns, "Regular expressions for source topics are not supported yet."),
    ):
        if is_wanted:
            return message
    return None


def _what_is_empty(request: StreamsHeartbeatRequest) -> str | None:
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            return f"{name} can't be empty."
    return None


def _what_a_joining_member_lacks(request: StreamsHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    for name, tasks in (
        ("ActiveTasks", request.active),
        ("StandbyTasks", request.standby),
        ("WarmupTasks", request.warmup),
    ):
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    return "Topology must be non-null when (re-)joining." if request.topology is None else None


def _wrong_changelog(topology: Topology) -> str | None:
    for subtopology in topology.subtopologies.values():
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                return (
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )
    return None


def _what_is_wrong(request: StreamsHeartbeatRequest) -> str | None:
    if request.member_epoch == LEAVE_FOR_A_WHILE:
        return "InstanceId can't be null."
    if request.member_epoch < LEAVE_FOR_A_WHILE:
        return f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
    roles = (request.active, request.standby, request.warmup)
    if any(tasks is None for tasks in roles) and any(tasks is not None for tasks in roles):
        return "If one task-type is non-null, all must be non-null."
    if request.member_epoch != JOIN and request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    return None
