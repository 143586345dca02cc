"""The transactional batches and markers that cleaning may drop (Kafka's CleanedTransactionMetadata).

A state machine without I/O that is given every batch of the segments in offset order. Data of aborted
transactions is dropped. A marker may be dropped when no batch of its transaction was seen before it, because
then it decides nothing.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from kcompat.records.control import ControlType, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.log.txn_index import AbortedTransaction
    from kcompat.records.batch import BatchHeader


class TransactionWalk:
    """The open, committed and aborted transactions at one point of the walk over the log.

    `kept` collects the index entries of aborted transactions that still have batches. The cleaned segment
    needs them; the code that writes them empties the list.
    """

    __slots__ = ("_aborted", "_committed", "_seen", "_waiting", "kept")

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, AbortedTransaction]] = []
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen: set[int] = set()
        self._committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def expect(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Add aborted transactions that overlap the next segments."""
        for entry in aborted:
            heapq.heappush(self._waiting, (entry.first_offset, entry.last_offset, entry))

    def is_discardable(self, batch: memoryview, header: BatchHeader) -> bool:
        """Return whether the next batch of the walk decides nothing: aborted data, or a marker without data.

        Raises RecordsDamaged.
        """
        self._begin_up_to(header.last_offset)
        if header.is_control:
            return self._is_marker_discardable(batch, header)
        if not header.is_transactional:
            return False
        aborted = self._aborted.get(header.producer_id)
        if aborted is not None and aborted.last_offset >= header.last_offset:
            self._seen.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            entry = heapq.heappop(waiting)[2]
            if entry.last_offset >= offset and self._aborted.get(entry.producer_id) != entry:
                self._aborted[entry.producer_id] = entry
                self._seen.discard(entry.producer_id)

    def _is_marker_discardable(self, batch: memoryview, header: BatchHeader) -> bool:
        if header.record_count == 0:
            return True  # a marker that an earlier cleaning emptied
        producer_id = header.producer_id
        marker = read_marker(batch)
        if marker is None:
            return False  # a control record of another type
        if marker.type == ControlType.COMMIT:
            had_data = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_data
        aborted = self._aborted.pop(producer_id, None)
        if aborted is None or producer_id not in self._seen:
            return True
        self._seen.discard(producer_id)
        self.kept.append(aborted)
        return False
