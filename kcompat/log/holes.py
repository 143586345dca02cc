"""What a power cut leaves where it takes the last batches of a segment, and not the next segment.

Offsets are then missing between the two. Kafka keeps such a hole, also in a replica that leads later: what
the cluster acknowledged would be gone there. In a log that is compacted, offsets may be missing for good;
whether it is, is known only when its topic's configuration is, after loading.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)


def cut_at_hole(log: Log, compacted_to: int) -> None:
    """End a log that is not compacted where loading found a hole above the recovery point; `compacted_to` is
    up to where it once was. A follower takes what is missing, and what came after, from its leader. Raises
    StorageError.
    """
    if log.hole is not None and log.hole >= compacted_to and not log.config.compacts:
        logger.warning("%s is cut at %d: the next offsets are missing", log.directory, log.hole)
        log.truncate_to(log.hole)
    log.hole = None
