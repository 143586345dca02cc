"""A limit on the traffic of replicas that lag behind, so that a move of partitions leaves room for clients.
Pure.

Only named replicas are throttled (`leader.replication.throttled.replicas` and
`follower.replication.throttled.replicas` of a topic), and only while they are not in sync: all their traffic
counts, but no limit puts a replica out of sync. Kafka's counterpart: `ReplicationQuotaManager`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.replication.leading.leader import Leader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.clock import Clock
    from kcompat.replication.role import Follower

EVERY_REPLICA: Final = "*"
NO_LIMIT: Final = 2**63 - 1


class ReplicationThrottle:
    """Rate of traffic in bytes per second over a window of samples, and the limit on it."""

    __slots__ = ("_begun_ms", "_bytes", "_limit", "_sample_ms", "_samples")

    def __init__(self) -> None:
        """Begin without a limit; `configure` sets one."""
        self._begun_ms: deque[int] = deque()
        self._bytes: deque[int] = deque()
        self.configure(NO_LIMIT, 11, 1000)

    def configure(self, limit: int, samples: int, sample_ms: int) -> None:
        """Set a limit in bytes per second over a window of `samples` samples of `sample_ms` each."""
        self._limit = limit
        self._samples = samples
        self._sample_ms = sample_ms

    def record(self, size: int, now_ms: int) -> None:
        """Count bytes that were sent or received."""
        if not self._begun_ms or now_ms - self._begun_ms[-1] >= self._sample_ms:
            self._begun_ms.append(now_ms)
            self._bytes.append(0)
        self._bytes[-1] += size
        self._forget(now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        """Return whether the rate exceeds the limit. An incomplete first sample counts as a whole one."""
        if self._limit == NO_LIMIT:
            return False
        self._forget(now_ms)
        if not self._begun_ms:
            return False
        elapsed_ms = max(now_ms - self._begun_ms[0], self._sample_ms)
        return sum(self._bytes) * 1000 > self._limit * elapsed_ms

    def _forget(self, now_ms: int) -> None:
        """Drop the samples that have left the window."""
        while self._begun_ms and now_ms - self._begun_ms[0] >= self._samples * self._sample_ms:
            self._begun_ms.popleft()
            self._bytes.popleft()


class ReplicaThrottles(Struct, frozen=True):
    """The throttles of one replica while it leads, and while it follows; None if it is not throttled."""

    leader: ReplicationThrottle | None = None
    follower: ReplicationThrottle | None = None

    def holds(self, leader: Leader | Follower, replica: int, clock: Clock) -> bool:
        """Return whether a follower is sent nothing for now; False for a follower in sync, which would fall
        out of the ISR.
        """
        if self.leader is None or not isinstance(leader, Leader) or replica in leader.state.isr:
            return False
        return self.leader.is_exceeded(clock.now_ms())


def names(replicas: Sequence[str], index: int, broker_id: int) -> bool:
    """Return whether a list of `partition:broker` pairs, or `*`, names a replica."""
    return EVERY_REPLICA in replicas or f"{index}:{broker_id}" in replicas
