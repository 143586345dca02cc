"""Requests to groups, and their answers, free of protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.topics import TopicPartition

UNKNOWN_MEMBER = ""
"""Member id of a client that has none yet."""

NO_GENERATION = -1


def _everything(_topic: str) -> bool:
    return True


class JoinRequest(Struct, frozen=True):
    """A client's request to be in a group's next generation, and its terms.

    `protocols` are (name, metadata) in order of preference. `needs_member_id` asks new dynamic members to
    come back with the id they were given (KIP-394, JoinGroup v4+); `can_skip_assignment` is KIP-814 (v9+).
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
    """Returns whether a pattern may match a topic: a join can have the patterns of its group matched."""


class JoinedMember(Struct, frozen=True):
    """A member in the answer to the leader of a generation."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(Struct, frozen=True):
    """The generation a member is in; only the leader gets the members."""

    error: ErrorCode = ErrorCode.NONE
    member_id: str = UNKNOWN_MEMBER
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = UNKNOWN_MEMBER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncRequest(Struct, frozen=True):
    """A member's request for its assignment; the leader's request carries the assignments of all.

    The protocol's type and name are checked if they are given.
    """

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


class SyncAnswer(Struct, frozen=True):
    """A member's assignment."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class MemberIdentity(Struct, frozen=True):
    """A member to remove: its id, or its instance id alone (removal by an administrator, KIP-345)."""

    member_id: str
    instance_id: str | None = None


class LeaveAnswer(Struct, frozen=True):
    """The error of the whole request, and of each member."""

    error: ErrorCode = ErrorCode.NONE
    members: tuple[tuple[MemberIdentity, ErrorCode], ...] = ()


class OffsetToCommit(Struct, frozen=True):
    """A partition of a commit. `commit_timestamp` (ms) is the client's in OffsetCommit v1, else -1."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    commit_timestamp: int = -1


class CommitRequest(Struct, frozen=True):
    """A commit of offsets. `retention_ms` is the client's (v2 to v4), -1 for the broker's. In a transaction
    they count once that commits.

    `generation` is the member epoch of a member of a consumer group; `knows_epochs` says whether the client
    can be one (OffsetCommit v9+).
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
    """The client that fetches offsets of a group, as a consumer group's member or not (OffsetFetch v9+)."""

    group_id: str
    member_id: str | None = None
    member_epoch: int = NO_GENERATION


class FetchedOffset(Struct, frozen=True):
    """The committed offset of a partition, -1 if there is none."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class FetchAnswer(Struct, frozen=True):
    """The error of the whole group, or the offset of each partition asked for."""

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
    """A group as DescribeGroups shows it; `state` is empty when this broker cannot say."""

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
