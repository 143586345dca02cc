"""The log of a follower as its fetcher sees it, and where the fetcher truncates it (KIP-101, KIP-279).

Kafka's counterpart of `truncation`: `AbstractFetcherThread.getOffsetTruncationState`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.log.epochs import UNDEFINED
from kcompat.replication.role import ReplicaIdentity

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode


class FollowerLog(ReplicaIdentity, Protocol):
    """A replica as a fetcher reads and changes it. Methods that change the log may raise StorageError."""

    @property
    def log_start_offset(self) -> int:
        """The start offset of its log."""

    @property
    def log_end_offset(self) -> int:
        """Log end offset, from which the next fetch starts."""

    @property
    def high_watermark(self) -> int:
        """High watermark of the partition, as this broker knows it."""

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last batch; -1 if no epochs are known."""

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `epoch` and where it ends; (-1, -1) if that is unknown."""

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        """Append what the leader of this epoch sent, as it is, but nothing of a later epoch.

        Returns CORRUPT_MESSAGE if it was damaged on the way, OFFSET_OUT_OF_RANGE if it does not belong at the
        log end.
        """

    def heard(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over the leader's high watermark and log start, as far as this log has the records."""

    def is_held(self, lag: int) -> bool:
        """Return whether a throttle holds this replica back; it is `lag` offsets behind (-1: unknown)."""

    def truncate_to(self, offset: int) -> None:
        """Remove the records from `offset` on."""

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete all records and start the log again at `offset`."""


class Truncation(Struct, frozen=True, gc=False):
    """Offset to truncate a log to; unless it is final, the leader is asked about the new last epoch."""

    offset: int
    is_final: bool


def truncation(log: FollowerLog, epoch: int, end_offset: int) -> Truncation:
    """Return where to cut the log when the leader answers that `epoch` ended at `end_offset`.

    `epoch` is the largest that the leader knows up to the one it was asked about; -1 stands for "unknown".
    """
    log_end = log.log_end_offset
    if end_offset == UNDEFINED:
        return Truncation(min(log.high_watermark, log_end), is_final=True)
    if epoch == UNDEFINED:
        return Truncation(min(end_offset, log_end), is_final=True)
    own_epoch, own_end = log.end_offset_for_epoch(epoch)
    if own_end == UNDEFINED:
        return Truncation(min(end_offset, log_end), is_final=True)
    if own_epoch != epoch:
        # The leader may have had yet other epochs where this log has `own_epoch`.
        return Truncation(min(own_end, log_end), is_final=False)
    return Truncation(min(own_end, end_offset, log_end), is_final=True)
