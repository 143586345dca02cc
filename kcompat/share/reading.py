"""The record batches in the data that a share fetch reads from a log. Records are not decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.records.aborted import AbortedBatches
from kcompat.records.batch import iter_headers
from kcompat.share.partition.acquisition import FetchedBatch

if TYPE_CHECKING:
    from collections.abc import Iterable


class ReadBatches:
    """The complete batches in the data of one read; a truncated last batch is left out."""

    __slots__ = ("_data", "_headers", "batches")

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._headers = list(iter_headers(self._data))
        self.batches = [FetchedBatch(header.base_offset, header.last_offset) for _, header in self._headers]
        """First and last offset of each batch."""

    def aborted(self, transactions: Iterable[tuple[int, int]]) -> list[FetchedBatch]:
        """Return the batches of aborted transactions, which are given as (producer id, first offset)."""
        aborted = AbortedBatches(transactions)
        return [
            batch
            for (position, header), batch in zip(self._headers, self.batches, strict=True)
            if aborted.include(header, self._data[position : position + header.size])
        ]

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
