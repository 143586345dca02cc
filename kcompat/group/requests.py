"""Requests to groups and their responses, independent of protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.topics import TopicPartition

UNKNOWN_MEMBER = ""
"""Member id of a client that has no id yet."""

NO_GENERATION = -1


def _everything(_topic: str) -> bool:
    return True


class JoinRequest(Struct, frozen=True):
    """JoinGroup request of a client that wants to be a member of the group's next generation.

    `protocols` are (name, metadata) in order of preference. With `needs_member_id` a new dynamic member is
    assigned an id and has to join again with it (KIP-394, JoinGroup v4+). `can_skip_assignment` means that
    the client supports KIP-814 (v9+).
    """

    group_id: str
    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    instance_id: str | None = None
    needs_member_id: bool = False
    can_skip_assignment: bool = False
    may_describe: Callable[[str], bool] = _everything
    """Returns whether the client may DESCRIBE a topic, so that the group's patterns may match it."""
    reason: str | None = None
    """Reason that the client gives, for the log (KIP-800)."""


class JoinedMember(Struct, frozen=True):
    """A member as the JoinGroup response shows it to the leader of a generation."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(Struct, frozen=True):
    """Response to JoinGroup with the member's generation. Only the leader gets `members`."""

    error: ErrorCode = ErrorCode.NONE
    member_id: str = UNKNOWN_MEMBER
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = UNKNOWN_MEMBER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncRequest(Struct, frozen=True):
    """SyncGroup request of a member for its assignment; the leader's request has all assignments.

    `protocol_type` and `protocol_name` are compared with the group's unless they are None.
    """

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


class SyncAnswer(Struct, frozen=True):
    """Response to SyncGroup: a member's assignment."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class MemberIdentity(Struct, frozen=True):
    """Member named in a request: by its id, or by its instance id alone (removal by an administrator,
    KIP-345).
    """

    member_id: str
    instance_id: str | None = None
    reason: str | None = None
    """Reason with which the member leaves, for the log (KIP-800)."""


class LeaveAnswer(Struct, frozen=True):
    """Response to LeaveGroup: the error of the whole request, and of each member."""

    error: ErrorCode = ErrorCode.NONE
    members: tuple[tuple[MemberIdentity, ErrorCode], ...] = ()


class OffsetToCommit(Struct, frozen=True):
    """Offset to commit for a partition. `commit_timestamp` is in ms, and -1 except in OffsetCommit v1."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    commit_timestamp: int = -1


class CommitRequest(Struct, frozen=True):
    """Request to commit offsets; in a transaction they take effect when the transaction commits.

    `retention_ms` is the client's retention (OffsetCommit v2 to v4); -1 means the broker's. `generation` is
    the member epoch if the client is a member of a consumer group. `knows_epochs` says whether the client's
    version of OffsetCommit supports member epochs (v9+).
    """

    group_id: str
    offsets: tuple[OffsetToCommit, ...]
    member_id: str = UNKNOWN_MEMBER
    generation: int = NO_GENERATION
    instance_id: str | None = None
    retention_ms: int = -1
    knows_epochs: bool = True
    is_transactional: bool = False


class FetchingMember(Struct, frozen=True):
    """Sender of an OffsetFetch: a member of a consumer group (v9+), or any client (`member_id` None)."""

    group_id: str
    member_id: str | None = None
    member_epoch: int = NO_GENERATION


class FetchedOffset(Struct, frozen=True):
    """Committed offset of a partition; -1 if there is none."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class FetchAnswer(Struct, frozen=True):
    """Response to OffsetFetch for one group: its error, or the offset of each requested partition."""

    error: ErrorCode = ErrorCode.NONE
    offsets: dict[TopicPartition, FetchedOffset] = {}


class DescribedMember(Struct, frozen=True):
    """A member as DescribeGroups shows it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(Struct, frozen=True):
    """A group as DescribeGroups shows it; `state` is empty if this broker does not know the group."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    message: str | None = None


class ListedGroup(Struct, frozen=True):
    """A group as ListGroups shows it."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str
