"""Why a heartbeat is refused."""

from __future__ import annotations

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode


class Refusal(Struct, frozen=True):
    """An error with its message, in place of what was asked for."""

    error: ErrorCode
    message: str | None = None


def no_such_group(group_id: str, found: object, kind: str) -> Refusal:
    """There is no group of this id, or the one that was found is of another kind than this."""
    what = "not found" if found is None else f"is not a {kind} group"
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
