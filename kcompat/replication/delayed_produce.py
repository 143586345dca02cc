"""A produce with acks=all that waits until the in-sync replicas have it. Answers to Kafka's `DelayedProduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.replication.partition import Partition


class DelayedProduce:
    """Waits until each partition's high watermark reaches its required offset.

    `waiting` maps a partition to the offset after the last one appended; `settle(partition, error)` is called once for each,
    with REQUEST_TIMED_OUT when the deadline came first; the result of the wait is True.
    """

    __slots__ = ("_settle", "_waiting")

    def __init__(self, waiting: dict[Partition, int], settle: Callable[[Partition, ErrorCode], None]) -> None:
        self._waiting = waiting
        self._settle = settle

    def try_complete(self, key: Hashable) -> bool | None:
        """Settle the partition that moved; done when none is left."""
        required = self._waiting.get(key)  # type: ignore[call-overload]
        if required is not None:
            self._check(key, required)  # type: ignore[arg-type]
        return True if not self._waiting else None

    def check_all(self) -> bool:
        """Look at every partition once; True when nothing is left to wait for."""
        for partition, required in tuple(self._waiting.items()):
            self._check(partition, required)
        return not self._waiting

    def expire(self) -> bool:
        """The deadline: what is not committed by now has timed out (it may still commit later)."""
        for partition in self._waiting:
            self._settle(partition, ErrorCode.REQUEST_TIMED_OUT)
        self._waiting.clear()
        return True

    def _check(self, partition: Partition, required: int) -> None:
        error = partition.committed(required)
        if error is not None:
            del self._waiting[partition]
            self._settle(partition, error)
