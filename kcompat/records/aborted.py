"""The records of aborted transactions, which readers with the isolation read_committed leave out."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from kcompat.records.control import ControlType, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.records.batch import BatchHeader

_first_offset = itemgetter(1)


class AbortedBatches:
    """Filter of the batches of aborted transactions in the data of one read, in their order.

    A transaction is aborted from its first offset up to its producer's next abort marker in the data, as
    Kafka's consumer has it (`CompletedFetch`).
    """

    __slots__ = ("_aborting", "_upcoming")

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        """Begin before the first batch. `transactions` are (producer id, first offset), as in a
        fetch.
        """
        self._upcoming = sorted(transactions, key=_first_offset, reverse=True)
        self._aborting: set[int] = set()

    def include(self, header: BatchHeader, batch: memoryview) -> bool:
        """Return whether the next batch of the data belongs to an aborted transaction. `batch` is the whole
        batch, with this header. Raises RecordsDamaged for a damaged marker.
        """
        while self._upcoming and self._upcoming[-1][1] <= header.last_offset:
            self._aborting.add(self._upcoming.pop()[0])
        if not header.is_control:
            return header.is_transactional and header.producer_id in self._aborting
        marker = read_marker(batch)
        if marker is not None and marker.type == ControlType.ABORT:
            self._aborting.discard(header.producer_id)
        return False
