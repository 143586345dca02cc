"""Leaders of one partition with two other replicas, without logs."""

from __future__ import annotations

from kcompat.cluster.control_requests import Role
from kcompat.replication.leading.leader import IsrRule, Leader

ME, OTHER, THIRD = 1, 2, 3
NOW = 1_000_000
LAG = 30_000
FETCH_WAIT = 500
SESSION_TIMEOUT = 18_000


class Cluster:
    """Which brokers are alive."""

    def __init__(self, fetch_wait_ms: int = FETCH_WAIT) -> None:
        """`fetch_wait_ms` is the longest wait of a follower's fetch."""
        self.alive = {ME, OTHER, THIRD}
        self._fetch_wait_ms = fetch_wait_ms

    def rule(self) -> IsrRule:
        """Return the rule by which replicas are in sync."""
        return IsrRule(LAG, lambda broker: broker in self.alive, self._fetch_wait_ms, SESSION_TIMEOUT)


def leader(
    *isr: int,
    replicas: tuple[int, ...] = (ME, OTHER, THIRD),
    min_insync: int = 1,
    end: int = 10,
    high: int = 7,
    epoch: int = 4,
    cluster: Cluster | None = None,
    previous: Leader | None = None,
    now_ms: int = NOW,
) -> Leader:
    """A leader since now, with a log that ends at `end`."""
    role = Role(ME, epoch, isr, replicas)
    made = Leader(
        ME,
        role,
        (cluster or Cluster()).rule(),
        min_insync_replicas=min_insync,
        log_end_offset=end,
        high_watermark=high,
        now_ms=now_ms,
        previous=previous,
    )
    made.check_invariants(end)
    return made


def fetched(of: Leader, replica: int, offset: int, *, end: int, now_ms: int = NOW, start: int = 0) -> bool:
    """A fetch by a follower; True if the high watermark moved."""
    moved = of.fetched(replica, offset, start, log_end_offset=end, now_ms=now_ms, broker_epoch=-1)
    advanced = moved and of.advance(end, now_ms)
    of.check_invariants(end)
    return advanced
