"""Holes in a log: offsets that a power cut took from the end of a segment, while the next segment stayed.

Kafka keeps such a hole, also in a replica that leads later: records that the cluster acknowledged would be
missing there. Here a log that is not compacted is cut at the hole before its replica leads or follows. In a
compacted log the cleaner may have removed the offsets for good: the hole stays if the replica leads, and the
log is cut at the hole if the replica follows, because the leader has the missing records.

Until the replica leads or follows, `Log.hole` is the offset of the hole. The log ends uncleanly until then
and its recovery point is below the hole, so the next start finds the hole again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)


def cut_if_lost(log: Log, *, compacted_to: int) -> None:
    """Cut a log at its hole, unless the cleaner may have made the hole.

    The cleaner may have made any hole in a compacted log, and one below `compacted_to`, the offset up to
    which it has been through the log. Raises StorageError.
    """
    if log.hole is not None and log.hole >= compacted_to and not log.config.compacts:
        cut_to_follow(log)


def cut_to_follow(log: Log) -> None:
    """Cut a log at its hole, if it has one: the leader has the records after it. Raises StorageError."""
    if log.hole is not None:
        logger.warning(
            "%s is cut from offset %d to offset %d: the offsets that follow there are missing",
            log.directory,
            log.log_end_offset,
            log.hole,
        )
        log.truncate_to(log.hole)
        log.hole = None
