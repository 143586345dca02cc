"""Requests to share groups and their responses, independent of protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kcompat.group.modern.heartbeat import JOIN, LEAVE, Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.share.initialization import TopicPartitions
    from kcompat.group.modern.heartbeat import HeartbeatAnswer


class ShareHeartbeatRequest(Struct, frozen=True):
    """Heartbeat of a member, with its subscription; None for fields that have not changed."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    rack_id: str | None = None
    subscribed_topics: frozenset[str] | None = None


class Begin(NamedTuple):
    """Share partitions that the share coordinator has to initialize, with the state epoch of the group."""

    state_epoch: int
    topics: Mapping[bytes, TopicPartitions]


class ShareHeartbeatOutcome(NamedTuple):
    """Response to a heartbeat, and the share partitions to initialize after it is sent."""

    answer: HeartbeatAnswer
    begin: Begin | None = None


class StateDeletion(NamedTuple):
    """Share partitions of a group whose state the share coordinator has to delete.

    It has an error instead if no state of the group may be deleted, and the errors, by name, of topics whose
    state may not be deleted.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topics: Mapping[bytes, TopicPartitions] = {}
    refused: Mapping[str, tuple[ErrorCode, str]] = {}


class OffsetChange(NamedTuple):
    """Share partitions of a group to initialize again, with the names of their topics, or the error."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    begin: Begin | None = None
    topic_ids: Mapping[str, bytes] = {}


class DescribedSharer(Struct, frozen=True):
    """A member as ShareGroupDescribe shows it; partitions by topic id."""

    member_id: str
    member_epoch: int
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topics: tuple[str, ...]
    assigned: Mapping[bytes, tuple[int, ...]]


class DescribedShareGroup(Struct, frozen=True):
    """A group as ShareGroupDescribe shows it; `state` is empty if there is no group."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedSharer, ...] = ()


def request_refusal(request: ShareHeartbeatRequest, _config: GroupCoordinatorConfig) -> Refusal | None:
    """Return the first error that does not depend on the state of the group, with Kafka's order of checks;
    None without one.
    """
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
