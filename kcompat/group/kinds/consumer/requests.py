"""Requests to consumer groups and their responses, independent of protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.modern.heartbeat import JOIN, LEAVE, LEAVE_FOR_A_WHILE, Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.consumer.members import ConsumerState


class ConsumerHeartbeatRequest(Struct, frozen=True):
    """Heartbeat of a member, with its partitions and its subscription; None for fields that have not changed.

    `owned` are partitions by topic id. `may_describe(topic)` returns whether a pattern of the client may
    match the topic.
    """

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    may_describe: Callable[[str], bool]
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topics: frozenset[str] | None = None
    subscribed_regex: str | None = None
    server_assignor: str | None = None
    owned: Mapping[bytes, frozenset[int]] | None = None
    needs_member_id: bool = True
    """Whether the client has to choose its own member id (v1+)."""

    @property
    def is_full(self) -> bool:
        """Whether the request has all fields, as clients send them after an error."""
        subscribes = self.subscribed_topics is not None or self.subscribed_regex is not None
        return self.rebalance_timeout_ms != -1 and subscribes and self.owned is not None


class DescribedConsumer(Struct, frozen=True):
    """A member as ConsumerGroupDescribe shows it; partitions by topic id."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topics: tuple[str, ...]
    subscribed_regex: str
    assigned: Mapping[bytes, tuple[int, ...]]
    target: Mapping[bytes, tuple[int, ...]]
    is_classic: bool


class DescribedConsumerGroup(Struct, frozen=True):
    """A group as ConsumerGroupDescribe shows it."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: ConsumerState | None = None
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


def request_refusal(request: ConsumerHeartbeatRequest, config: GroupCoordinatorConfig) -> Refusal | None:
    """Return the first error that does not depend on the state of the group, with Kafka's order of checks;
    None without one.
    """
    assignors = config.consumer.assignors
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


def _what_is_missing(request: ConsumerHeartbeatRequest) -> str | None:
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


def _what_is_wrong(request: ConsumerHeartbeatRequest) -> str | None:
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
