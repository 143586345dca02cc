"""Parts of a heartbeat that several kinds of groups share: member epochs, refusals, the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping


class Refusal(Struct, frozen=True):
    """Error and its message, in place of a result."""

    error: ErrorCode
    message: str | None = None


def unknown_member(group_id: str, member_id: str) -> Refusal:
    """Return the refusal of a member that is not in the group."""
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def full_group(kind: str, max_size: int) -> Refusal:
    """Return the refusal of a member that would exceed the maximum size of the group."""
    return Refusal(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The {kind} group has reached its maximum capacity of {max_size} members.",
    )


JOIN = 0
"""Epoch in the heartbeat of a member that joins, or joins again after it was fenced."""

LEAVE = -1
"""Epoch in the heartbeat of a member that leaves."""

LEAVE_FOR_A_WHILE = -2
"""Epoch in the heartbeat of a static member that leaves and will return."""


def epoch_refusal(
    kind: str, received: int, current: int, *, accepts_older: bool, why: str = ""
) -> Refusal | None:
    """Return the refusal of a member in epoch `current` that sends epoch `received`; None if the epoch is
    accepted.

    The response to the member's last heartbeat may have been lost: `accepts_older` says whether that explains
    an older epoch, and `why` has the reason if it does not. `kind` is the name of the kind of group:
    "consumer", "share".
    """
    if received in (JOIN, current) or (received < current and accepts_older):
        return None
    size, reason = ("greater", "") if received > current else ("smaller", why)
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {size} member epoch ({received}) than the one known by the group "
        f"coordinator ({current}){reason}. The member must abandon all its partitions and rejoin.",
    )


class HeartbeatAnswer(Struct, frozen=True):
    """Response to a heartbeat. `assigned` is the member's assignment, None if it has not changed for the
    member.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assigned: Mapping[bytes, tuple[int, ...]] | None = None
