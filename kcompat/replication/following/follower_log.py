"""A replica as its fetcher sees it: a log that follows a leader's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.replication.named import Named

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode


class FollowedLog(Named, Protocol):
    """What a fetcher reads of a replica and does to it. What changes the log may raise StorageError."""

    @property
    def log_start_offset(self) -> int:
        """Where its log starts."""

    @property
    def log_end_offset(self) -> int:
        """Where its log ends, and the next fetch begins."""

    @property
    def high_watermark(self) -> int:
        """Below this offset everything is on every replica in sync, as far as is known here."""

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of its last batch; -1 where no epochs are known."""

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch up to `epoch` and where it ends here; (-1, -1) if that is unknown."""

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        """Append what was sent by the leader of this epoch, as it is, but nothing of a later epoch.

        CORRUPT_MESSAGE if it was damaged on the way, OFFSET_OUT_OF_RANGE if it does not belong at the log
        end.
        """

    def heard(self, high_watermark: int, log_start_offset: int) -> None:
        """Take the leader's high watermark, and its log start, as far as this log has come."""

    def is_held(self, lag: int) -> bool:
        """Whether it takes nothing for now, being `lag` behind (-1: nobody knows): others need the room."""

    def truncate_to(self, offset: int) -> None:
        """Remove everything from `offset` on."""

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and go on with an empty log at `offset`."""
