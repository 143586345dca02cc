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


class Truncation(Struct, frozen=True, gc=False):
    """Cut at `offset`; if that is not final, ask the leader again about the epoch that is the last then."""

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
