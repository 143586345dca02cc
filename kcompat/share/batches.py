"""Ranges of records with the same delivery state, as they are stored (Kafka's `PersisterStateBatch`)."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NO_OFFSET = -1
"""Start offset that is unknown, or that a write does not change."""


class StateBatch(NamedTuple):
    """The delivery state of the records from `first_offset` to `last_offset`, both included."""

    first_offset: int
    last_offset: int
    delivery_state: int
    """Number of a `RecordState`."""
    delivery_count: int


def combine(
    known: Sequence[StateBatch], added: Sequence[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """Merge two lists of batches into an ordered list without overlaps or offsets below `start_offset` (-1:
    no bound).

    Where batches overlap, the higher delivery count wins, and with equal counts the higher state, because a
    delivery never goes back. Adjacent batches with the same state are joined. Kafka's counterpart:
    `PersisterStateBatchCombiner`.
    """
    batches = sorted(_above(start_offset, (*known, *added)))
    combined: list[StateBatch] = []
    edges = sorted({edge for batch in batches for edge in (batch.first_offset, batch.last_offset + 1)})
    upcoming = iter(batches)
    batch = next(upcoming, None)
    covering: list[tuple[int, int, int]] = []  # batches that cover `first`, the furthest delivery first
    for first, behind in pairwise(edges):
        while batch is not None and batch.first_offset == first:
            heappush(covering, (-batch.delivery_count, -batch.delivery_state, batch.last_offset))
            batch = next(upcoming, None)
        while covering and covering[0][2] < first:
            heappop(covering)
        if covering:
            count, state, _ = covering[0]
            _extend(combined, StateBatch(first, behind - 1, -state, -count))
    return tuple(combined)


def _above(start_offset: int, batches: Iterable[StateBatch]) -> Iterable[StateBatch]:
    for batch in batches:
        if batch.first_offset >= start_offset:
            yield batch
        elif batch.last_offset >= start_offset:
            yield batch._replace(first_offset=start_offset)


def _extend(combined: list[StateBatch], batch: StateBatch) -> None:
    if combined:
        last = combined[-1]
        if last.last_offset + 1 == batch.first_offset and last[2:] == batch[2:]:
            combined[-1] = last._replace(last_offset=batch.last_offset)
            return
    combined.append(batch)
