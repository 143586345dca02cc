"""The answer to an append."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode

NO_APPEND_TIME: Final = -1
NO_OFFSET: Final = -1


class AppendResult(msgspec.Struct, frozen=True, gc=False):
    """The result of one append.

    `append_time_ms` is -1 where the timestamps are the producer's. For a duplicate it is the timestamp of the
    batch that the log already has.
    """

    error: ErrorCode
    base_offset: int
    last_offset: int
    append_time_ms: int
    log_start_offset: int
    duplicate: bool = False
