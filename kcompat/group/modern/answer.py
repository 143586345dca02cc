"""The answer to the heartbeat of a member of a consumer or a share group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping


class HeartbeatAnswer(Struct, frozen=True):
    """The epoch of a member; `assigned` is what it is to have now, where that is news to it."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assigned: Mapping[bytes, tuple[int, ...]] | None = None
