"""Delayed requests that wait for progress of each of their partitions: Produce requests for the in-sync
replicas or for the device, DeleteRecords requests for the followers (Kafka's `DelayedProduce` and
`DelayedDeleteRecords`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Answer = TypeVar("Answer")


class DelayedProgress(Generic[Answer]):
    """A delayed request that ends once `check` has a final result for each of its partitions.

    `check` is `Partition.committed`, `stored` or `deleted`; it gets the offset that `waiting` has for the
    partition. `settle(partition, error)` is called once for each partition, with REQUEST_TIMED_OUT if the
    deadline came first; then the wait ends with `answer`.
    """

    __slots__ = ("_answer", "_check", "_settle", "_waiting")

    def __init__(
        self,
        waiting: dict[Partition, int],
        settle: Callable[[Partition, ErrorCode], None],
        answer: Answer,
        check: Callable[[Partition, int], ErrorCode | None] = Partition.committed,
    ) -> None:
        self._check = check
        self._waiting = waiting
        self._settle = settle
        self._answer = answer

    def try_complete(self, key: Hashable) -> Answer | None:
        """Settle the partition that changed; return `answer` when none is left."""
        for partition in tuple(self._waiting):
            error = self._check(partition, self._waiting[partition]) if partition is key else None
            if error is not None:
                del self._waiting[partition]
                self._settle(partition, error)
        return None if self._waiting else self._answer

    def expire(self) -> Answer:
        """Settle the remaining partitions as timed out; their records may still be committed later."""
        for partition in self._waiting:
            self._settle(partition, ErrorCode.REQUEST_TIMED_OUT)
        self._waiting.clear()
        return self._answer
