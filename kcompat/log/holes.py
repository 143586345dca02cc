"""Holes in a log: offsets that a power cut took from the end of a segment, while the next segment stayed.
 Kafka keeps such a hole, also in a replica that leads later: what
the cluster acknowledged would be gone there. In a log that is compacted, offsets may be missing for good: the
hole stays if this replica leads, and goes if it follows, whoever made it, as the leader has what is missing.

Until one of that is known, `Log.hole` says where the hole is. The log is not taken for sound before: it ends
uncleanly, its recovery point lies below the hole, and the next run finds it again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)


def cut_if_lost(log: Log, *, compacted_to: int) -> None:
    """End a log at its hole, if that is no work of the cleaner, which was through it up to `compacted_to`.
    Raises StorageError.
    """
    if log.hole is not None and log.hole >= compacted_to and not log.config.compacts:
        cut_to_follow(log)


def cut_to_follow(log: Log) -> None:
    """End a log at its hole: what came after can be had again. Raises StorageError."""
    if log.hole is not None:
        logger.warning(
            "%s is cut from offset %d to offset %d: the offsets that follow there are missing",
            log.directory,
            log.log_end_offset,
            log.hole,
        )
        log.truncate_to(log.hole)
        log.hole = None
