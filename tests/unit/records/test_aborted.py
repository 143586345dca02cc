from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.records.aborted import AbortedBatches
from kcompat.records.batch import assign, build_batch, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT
"""The markers of a story."""


def written(base: int, producer: int, *, transactional: bool = True) -> bytearray:
    """Return a batch with two records, at the offsets `base` and the next one."""
    records = [Record(0, 1, None, b"v")] * 2
    return build_batch(
        records, base_offset=base, producer_id=producer, producer_epoch=0, transactional=transactional
    )


def marker(base: int, producer: int, kind: ControlType) -> bytearray:
    batch = build_marker(
        EndTransactionMarker(kind, 0), producer_id=producer, producer_epoch=0, timestamp=1, leader_epoch=0
    )
    assign(batch, base, 0)
    return batch


def left_out(transactions: list[tuple[int, int]], batches: Sequence[bytearray]) -> list[int]:
    """Return the base offsets of the batches of aborted transactions."""
    aborted = AbortedBatches(transactions)
    headers = [(read_header(batch), memoryview(batch)) for batch in batches]
    return [header.base_offset for header, batch in headers if aborted.include(header, batch)]


@pytest.mark.parametrize(
    ("transactions", "batches", "expected"),
    [
        ([], [written(0, 7), marker(2, 7, COMMIT)], []),
        ([(7, 0)], [written(0, 7), marker(2, 7, ABORT)], [0]),
        ([(7, 0)], [written(0, 7), marker(2, 7, ABORT), written(3, 7), marker(5, 7, COMMIT)], [0]),
        ([(7, 3)], [written(0, 7), marker(2, 7, COMMIT), written(3, 7), marker(5, 7, ABORT)], [3]),
        ([(8, 2), (7, 0)], [written(0, 7), written(2, 8), marker(4, 7, ABORT), written(5, 8)], [0, 2, 5]),
        ([(7, 0)], [written(0, 7), written(2, 8), written(4, 8, transactional=False)], [0]),
        ([(7, -5)], [written(0, 7), written(2, 7)], [0, 2]),
    ],
    ids=["committed", "aborted", "then committed", "then aborted", "two at once", "others", "began before"],
)
def test_batches_from_the_first_offset_to_the_abort_marker(
    transactions: list[tuple[int, int]], batches: list[bytearray], expected: list[int]
) -> None:
    assert left_out(transactions, batches) == expected
