"""How a fetcher stands with one partition, and the limits it keeps to."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.replication.following.follower_log import FollowedLog


BEHIND_MAX_BYTES: Final = 4 << 20
"""What is taken at once of a partition that is behind, unless `replica.fetch.max.bytes` says otherwise:
the work for a fetch is as much as that for its first MiB.
"""


class FetcherConfig(Struct, frozen=True):
    """The keys `replica.fetch.*`; times in ms."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    partition_max_bytes: int = 1 << 20
    behind_max_bytes: int = BEHIND_MAX_BYTES
    """Of a partition that is behind the high watermark, instead of `partition_max_bytes`."""
    response_max_bytes: int = 10 << 20
    backoff_ms: int = 1000
    truncates_on_fetch: bool = True
    """Whether leaders compare epochs in Fetch: since `inter.broker.protocol.version` 2.7."""


class Stage(Enum):
    """What is asked of the leader next."""

    FETCHING = auto()
    TRUNCATING = auto()
    """Where the last epoch of the log ended."""
    SEEKING_END = auto()
    """Where the leader's log ends, as the offset is not in it."""
    SEEKING_START = auto()
    """Where it starts."""


class Following(Struct):
    """One partition that follows the leader."""

    log: FollowedLog
    leader_epoch: int
    stage: Stage
    failures: int = 0
    """How many answers in a row came to nothing."""
    lag: int = -1
    """How far the log is behind the leader's high watermark; -1 before the first answer."""
