"""Fetch of many partitions that may wait for enough bytes (Kafka's `ReplicaManager.fetchMessages` and
`DelayedFetch`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.replication.partition import Partition
from kcompat.replication.reading import Fetched
from kcompat.replication.waiting.cached_answer import CachedFollowerAnswer, cacheable

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kcompat.protocol.errors import ErrorCode
    from kcompat.replication.reading import FetchSpec, PartitionReader
    from kcompat.replication.waiting.fetch_session import FetchTarget

Results = list[tuple["FetchTarget", Fetched]]


class DelayedFetch:
    """A fetch that reads `targets` in order within its limits, and that can wait in a purgatory until
    `min_bytes` can be read.

    A target without a partition has an error. `max_bytes` limits the response, but unless `hard_limit` is set
    the first batch is always returned whole (KIP-74).
    """

    __slots__ = (
        "_hard_limit",
        "_max_bytes",
        "_min_bytes",
        "_reader",
        "_sizes",
        "_specs",
        "_targets",
        "_total",
    )

    def __init__(
        self,
        targets: list[tuple[FetchTarget, Partition | ErrorCode]],
        reader: PartitionReader,
        *,
        min_bytes: int,
        max_bytes: int,
        hard_limit: bool = False,
    ) -> None:
        self._targets = targets
        self._reader = reader
        self._hard_limit = hard_limit
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._sizes: dict[Hashable, int] = {}
        self._specs: dict[Hashable, FetchSpec] = {}
        self._total = 0

    def read(self, known: Partition | None = None, just_read: Fetched | None = None) -> Results:
        """Read every partition once, except `known` if `just_read` fits into the response."""
        results: Results = []
        reader, left, min_one_batch = self._reader, self._max_bytes, not self._hard_limit
        for target, partition in self._targets:
            if not isinstance(partition, Partition):
                target.cached = None
                results.append((target, Fetched(partition, aborted=[])))
                continue
            spec = target.spec
            if target.cached is not None and target.cached.lasts(partition, spec, reader):
                results.append((target, target.cached.fetched))
                continue
            limit = min(left, spec.max_bytes)
            if partition is known and just_read is not None and len(just_read.records) <= limit:
                fetched = just_read
            else:
                fetched = partition.fetch(spec, reader, limit, min_one_batch)
            target.cached = cacheable(partition, spec, reader, fetched)
            size = len(fetched.records)
            if size:
                min_one_batch = False
                left = max(0, left - size)
            results.append((target, fetched))
        return results

    def note(self, results: Results, now_ms: int) -> None:
        """Record in each partition that a follower has all records below its fetch offset.

        This is done once for each request, with the first results: records appended while the request waits
        do not make the follower late.
        """
        for (target, partition), (_, fetched) in zip(self._targets, results, strict=True):
            if isinstance(target.cached, CachedFollowerAnswer):
                target.cached.note(now_ms)
            elif isinstance(partition, Partition) and not fetched.error and fetched.diverging is None:
                partition.note_fetch(target.spec, self._reader, now_ms)

    def count(self, results: Results, now_ms: int) -> None:
        """Count the bytes that are sent to throttled replicas."""
        for (_, partition), (_, fetched) in zip(self._targets, results, strict=True):
            throttle = partition.throttled.leader if isinstance(partition, Partition) else None
            if throttle is not None:
                throttle.record(len(fetched.records), now_ms)

    def must_answer(self, results: Results) -> bool:
        """Return whether these results must be sent without waiting.

        Otherwise remember the bytes of each partition, so that an event costs one read. A target without a
        partition does not end the wait for the others, as seen on a running Kafka 3.9.2.
        """
        total = 0
        for (target, partition), (_, fetched) in zip(self._targets, results, strict=True):
            if isinstance(partition, Partition):
                if fetched.ends_wait:
                    return True
                self._specs[partition] = target.spec
                self._sizes[partition] = size = len(fetched.records)
                total += size
        self._total = total
        return not self._sizes or total >= self._min_bytes

    @property
    def keys(self) -> list[Hashable]:
        """Partitions to wait on, as found by `must_answer`."""
        return list(self._sizes)

    def try_complete(self, key: Hashable) -> Results | None:
        """Read the partition that changed, and all partitions once there are enough bytes."""
        assert isinstance(key, Partition)
        spec = self._specs[key]
        fetched = key.fetch(spec, self._reader, spec.max_bytes, min_one_batch=True)
        self._total += len(fetched.records) - self._sizes[key]
        self._sizes[key] = len(fetched.records)
        is_enough = fetched.ends_wait or self._total >= self._min_bytes
        return self.read(key, fetched) if is_enough else None

    def expire(self) -> Results:
        """Return the results at the deadline.

        Even without new records there may be a new high watermark or log start, neither of which ends the
        wait of a follower.
        """
        return self.read()
