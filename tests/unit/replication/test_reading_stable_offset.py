"""How far consumers of what is committed may read where the beginning of a transaction was deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.append import UNVERIFIED
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.replication.listing import LATEST_TIMESTAMP, offset_for
from kcompat.replication.reading import READ_COMMITTED, Fetched, FetchSpec, PartitionReader
from support.log_harness import make_batch

from .conftest import append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.replication.partition import Partition

COMMITTED = PartitionReader(READ_COMMITTED)


def open_transaction(partition: Partition) -> None:
    """Its one record is at the log end."""
    batch = memoryview(make_batch(producer_id=5, producer_epoch=0, base_sequence=0, transactional=True))
    partition.append(batch, read_header(batch), 1, 5000, UNVERIFIED)


def end_transaction(partition: Partition) -> None:
    marker = EndTransactionMarker(ControlType.ABORT, 0)
    batch = memoryview(build_marker(marker, producer_id=5, producer_epoch=0, timestamp=1, leader_epoch=0))
    partition.append(batch, read_header(batch), 1, 5000, UNVERIFIED)


def fetch(partition: Partition, offset: int) -> Fetched:
    return partition.fetch(FetchSpec(offset, 10_000), COMMITTED, 10_000, min_one_batch=True)


@pytest.fixture
def partition(make_partition: Callable[..., Partition]) -> Partition:
    """A transaction open at 0 and plain records after it, in segments of about five."""
    partition = make_partition(segment_bytes="400", retention_bytes="1000")
    open_transaction(partition)
    for _ in range(20):
        append(partition, b"plain")
    return partition


def assert_starts_stable_at(partition: Partition, offset: int) -> None:
    """A consumer of what is committed that asks for the newest offset can go on from there, and waits."""
    assert offset_for(partition, LATEST_TIMESTAMP, COMMITTED, -1).offset == offset
    assert fetch(partition, offset) == Fetched(
        ErrorCode.NONE, high_watermark=21, last_stable_offset=offset, log_start_offset=offset, aborted=[]
    )
    partition.check_invariants()


def test_deleted_records_of_an_open_transaction(partition: Partition) -> None:
    assert partition.last_stable_offset == 0
    assert partition.delete_records_before(10) == (ErrorCode.NONE, 10)
    assert_starts_stable_at(partition, 10)
    end_transaction(partition)
    assert partition.last_stable_offset == 22
    found = fetch(partition, 10)
    assert len(found.records) > 0
    assert found.aborted == [(5, 0)]


def test_all_records_deleted_while_a_transaction_is_open(partition: Partition) -> None:
    partition.delete_records_before(-1)
    assert_starts_stable_at(partition, 21)
    append(partition, b"more")
    assert partition.last_stable_offset == 21


def test_retention_deletes_the_beginning_of_an_open_transaction(partition: Partition) -> None:
    assert partition.log.delete_old_segments(5000, partition.high_watermark) > 0
    start = partition.log.log_start_offset
    assert 0 < start < 21
    assert_starts_stable_at(partition, start)
