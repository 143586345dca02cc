"""The record batches in the data that a share fetch reads from a log. Records are not decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.records.batch import iter_headers
from kcompat.records.control import ControlType, read_marker
from kcompat.share.partition.acquisition import FetchedBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.records.batch import BatchHeader


class ReadBatches:
    """The complete batches in the data of one read; a truncated last batch is left out."""

    __slots__ = ("_data", "_headers", "batches")

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._headers = list(iter_headers(self._data))
        self.batches = [FetchedBatch(header.base_offset, header.last_offset) for _, header in self._headers]
        """First and last offset of each batch."""

    def aborted(self, transactions: Sequence[tuple[int, int]]) -> list[FetchedBatch]:
        """Return the batches of aborted transactions, which are given as (producer id, first offset)."""
        upcoming = sorted(transactions, key=lambda transaction: transaction[1])
        aborting: set[int] = set()
        found: list[FetchedBatch] = []
        begun = 0
        for (position, header), batch in zip(self._headers, self.batches, strict=True):
            while begun < len(upcoming) and upcoming[begun][1] <= batch.last:
                aborting.add(upcoming[begun][0])
                begun += 1
            if header.is_control:
                if self._ends_in_abort(position, header):
                    aborting.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in aborting:
                found.append(batch)
        return found

    def slice(self, first_offset: int, last_offset: int) -> memoryview:
        """Return the bytes of whole batches, from the one with `first_offset` to the one with
        `last_offset`.
        """
        begin = end = 0
        for (position, header), batch in zip(self._headers, self.batches, strict=True):
            if batch.first <= first_offset:
                begin = position
            if batch.first <= last_offset:
                end = position + header.size
        return self._data[begin:end]

    def _ends_in_abort(self, position: int, header: BatchHeader) -> bool:
        marker = read_marker(self._data[position : position + header.size])
        return marker is not None and marker.type == ControlType.ABORT
