"""Where a follower cuts its log, given where the leader says an epoch ended (KIP-101, KIP-279). Pure.

Kafka's counterpart: `AbstractFetcherThread.getOffsetTruncationState`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.log.epochs import UNDEFINED

if TYPE_CHECKING:
    from kcompat.replication.following.follower_log import FollowedLog


class Truncation(Struct, frozen=True, gc=False):
    """Cut at `offset`; if that is not final, ask the leader again about the epoch that is the last then."""

    offset: int
    is_final: bool


def truncation(log: FollowedLog, epoch: int, end_offset: int) -> Truncation:
    """What to do when the leader says that `epoch`, the largest it knows up to the one that was asked about,
    ended at `end_offset`. -1 stands for "unknown".
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
