"""The limits that a share group's configuration sets for each of its share partitions."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

LEAST_THROTTLED_DELIVERIES = 2


class AcquireMode(IntEnum):
    """Rule for the number of records that a fetch acquires (KIP-1206)."""

    BATCH_OPTIMIZED = 0
    """Acquire whole record batches, which may have more records than the fetch requested."""
    RECORD_LIMIT = 1
    """Acquire at most the number of records that the fetch requested."""


class ShareLimits(NamedTuple):
    """The effective settings for the share partitions of a group."""

    max_record_locks: int
    """Records of a share partition that may be in flight."""
    delivery_count_limit: int
    """Deliveries of a record before it is archived."""
    record_lock_duration_ms: int
    """Milliseconds for which a delivery locks a record."""
    renew_acknowledge: bool
    """Whether members may renew their locks (KIP-1222)."""

    @property
    def throttled_deliveries(self) -> int:
        """Delivery count from which on records are acquired in smaller numbers, to isolate a bad record."""
        return max(LEAST_THROTTLED_DELIVERIES, math.ceil(self.delivery_count_limit / 2))
