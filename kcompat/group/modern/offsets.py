"""Checks of clients that commit or fetch offsets of a group whose members have epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from kcompat.group.requests import NO_GENERATION, UNKNOWN_MEMBER
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.coordinator.timeline import TimelineDict
    from kcompat.group.requests import CommitRequest


class MemberWithEpoch(Protocol):
    """A member with its epoch, for checks of offset requests."""

    @property
    def member_epoch(self) -> int:
        """Epoch of the member."""


M = TypeVar("M", bound=MemberWithEpoch)


def need_be_no_member(request: CommitRequest, *, is_empty: bool) -> bool:
    """Return whether the request may come from a client that names no member.

    An administrator names none in a group without members, and producers before KIP-447 never name one.
    """
    if request.generation < 0 and is_empty:
        return True
    is_anybody = (
        request.generation == NO_GENERATION
        and request.member_id == UNKNOWN_MEMBER
        and request.instance_id is None
    )
    return request.is_transactional and is_anybody


def reader(
    members: TimelineDict[str, M], member_id: str | None, member_epoch: int
) -> tuple[M | None, ErrorCode]:
    """Return the member that fetches offsets, None if the client is not a member, and the error.

    The committed state is used, because the response has committed offsets.
    """
    if member_id is None and member_epoch < 0:
        return None, ErrorCode.NONE
    member = members.committed(member_id or UNKNOWN_MEMBER)
    return member, ErrorCode.UNKNOWN_MEMBER_ID if member is None else ErrorCode.NONE
