"""Why a heartbeat is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode


class Refusal(Struct, frozen=True):
    """An error with its message, in place of what was asked for."""

    error: ErrorCode
    message: str | None = None
