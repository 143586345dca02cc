"""Member epochs: what a member may come with, and what they mean."""

from __future__ import annotations

from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

JOIN = 0
"""The epoch of a member that joins, or joins again after it was fenced."""

LEAVE = -1
"""The epoch of a member that leaves."""

LEAVE_FOR_A_WHILE = -2
"""The epoch of a static member that leaves and means to come back."""


def epoch_refusal(
    kind: str, received: int, current: int, *, accepts_older: bool, why: str = ""
) -> Refusal | None:
    """Whether a member in epoch `current` may come with `received`; the answer to its last heartbeat may have
    been lost, and `accepts_older` says whether that explains an older one, `why` in words why not.

    `kind` is what the group is called: "consumer", "share".
    """
    if received in (JOIN, current) or (received < current and accepts_older):
        return None
    size, reason = ("greater", "") if received > current else ("smaller", why)
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {size} member epoch ({received}) than the one known by the group "
        f"coordinator ({current}){reason}. The member must abandon all its partitions and rejoin.",
    )
