"""What a power cut leaves where it takes the last batches of a segment, and not the next segment.

Offsets are then missing between the two. Kafka keeps such a hole, also in a replica that leads later: what
the cluster acknowledged would be gone there. In a log that is compacted, offsets may be missing for good;
whether it is, and who leads, is known only after loading.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)


def cut_at_hole(log: Log, *, compacted_to: int = 0, can_be_had_again: bool) -> None:
    """End a log where loading found a hole above the recovery point, if that is no work of the cleaner, which
    was through it up to `compacted_to`; or if what came after `can_be_had_again`, as a follower takes it from
    its leader: then it does not matter whose work it was. Raises StorageError.
    """
    hole, log.hole = log.hole, None
    if hole is None:
        return
    if can_be_had_again or (hole >= compacted_to and not log.config.compacts):
        logger.warning("%s is cut at %d: the next offsets are missing", log.directory, hole)
        log.truncate_to(hole)
