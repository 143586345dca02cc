"""The log of a follower as its fetcher uses it, and the offset to truncate it to (KIP-101, KIP-279).

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
        """Log start offset of this replica."""

    @property
    def log_end_offset(self) -> int:
        """Log end offset, from which the next fetch starts."""

    @property
    def high_watermark(self) -> int:
        """High watermark of the partition, as known to this broker."""

    @property
    def latest_epoch(self) -> int:
        """Leader epoch of the last batch; -1 if no epochs are known."""

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `epoch` and its end offset in this log; (-1, -1) if they are
        unknown.
        """

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        """Append records unchanged as the leader of this epoch sent them, without batches of a later epoch.

        Returns CORRUPT_MESSAGE if the records were damaged in transit, OFFSET_OUT_OF_RANGE if they do not
        continue the log.
        """

    def update_bounds(self, high_watermark: int, log_start_offset: int) -> None:
        """Set the high watermark and log start to the leader's, as far as this log has the records."""

    def is_held(self, lag: int) -> bool:
        """Return whether the throttle delays this replica, which is `lag` offsets behind (-1: unknown)."""

    def truncate_to(self, offset: int) -> None:
        """Remove the records from `offset` on."""

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete all records and start the log again at `offset`."""


class Truncation(Struct, frozen=True, gc=False):
    """Offset to truncate a log to. Unless it is final, the new last epoch has to be compared with the leader
    again.
    """

    offset: int
    is_final: bool


def truncation(log: FollowerLog, epoch: int, end_offset: int) -> Truncation:
    """Return the offset to truncate the log to after the leader has answered that `epoch` ends at
    `end_offset`.

    `epoch` is the largest epoch that the leader knows, up to the requested one; -1 means "unknown".
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
        # The leader may have other epochs at the offsets at which this log has `own_epoch`.
        return Truncation(min(own_end, log_end), is_final=False)
    return Truncation(min(own_end, end_offset, log_end), is_final=True)
