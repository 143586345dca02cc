"""The refusal of a request, and those that several kinds of groups give."""

from __future__ import annotations

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode


class Refusal(Struct, frozen=True):
    """An error with its message, in place of what was asked for."""

    error: ErrorCode
    message: str | None = None


def unknown_member(group_id: str, member_id: str) -> Refusal:
    """Return the refusal of a member that the group does not have."""
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def full_group(kind: str, max_size: int) -> Refusal:
    """Return the refusal of one more member."""
    return Refusal(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The {kind} group has reached its maximum capacity of {max_size} members.",
    )
