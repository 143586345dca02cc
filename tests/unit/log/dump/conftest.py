"""A directory to dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.append import BY_COORDINATOR, WITHOUT_PROOF
from kcompat.log.loader import create_log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Three segments, a producer, two transactions of which one was aborted."""
    directory = tmp_path / "t-0"
    config = log_settings(segment_bytes=2800, index_interval_bytes=200)
    log = create_log(directory, "t", 0, config, topic_id=bytes(range(16)), now_ms=0)
    for number in range(60):
        records = [Record(0, 1000 + number, b"k", b"v" * 50)]
        batch = memoryview(
            build_batch(
                records,
                producer_id=7,
                producer_epoch=0,
                base_sequence=number,
                transactional=number % 30 > 20,
                codec=Codec(number % 5),
            )
        )
        log.append_as_leader(batch, read_header(batch), number // 20, 0, WITHOUT_PROOF)
        if number % 30 == 29:
            marker = EndTransactionMarker(ControlType(number // 30), 2)
            batch = memoryview(
                build_marker(marker, producer_id=7, producer_epoch=0, timestamp=1000 + number, leader_epoch=0)
            )
            log.append_as_leader(batch, read_header(batch), number // 20, 0, BY_COORDINATOR)
    log.close()
    assert len(log.local.segments.base_offsets) == 3
    return directory
