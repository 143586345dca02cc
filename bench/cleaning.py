"""A log and the job to clean it, as the broker gives it to the process that does so."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from kcompat.log.cleaner.job import CleanJob, Rules, SegmentPart
from kcompat.records.batch import build_batch
from kcompat.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

BATCHES, RECORDS_PER_BATCH, RECORD_SIZE = 1000, 16, 1000
KEYS = 3000
"""Each has five records on average, so that most batches lose some of theirs and keep others."""
WRITTEN_MS = 1_700_000_000_000
MAP_BYTES = 1 << 20


def job_of(directory: Path) -> CleanJob:
    """Write a log of one segment of 16 MB, the same each time, and say how all of it is cleaned."""
    rng = random.Random(1)
    with (directory / f"{0:020}.log").open("wb") as file:
        for number in range(BATCHES):
            records = [
                Record(delta, WRITTEN_MS, b"key-%d" % rng.randrange(KEYS), rng.randbytes(RECORD_SIZE))
                for delta in range(RECORDS_PER_BATCH)
            ]
            file.write(build_batch(records, base_offset=number * RECORDS_PER_BATCH))
        size = file.tell()
    end = BATCHES * RECORDS_PER_BATCH
    return CleanJob(
        directory=str(directory),
        parts=(SegmentPart(0, size, 0, 0, WRITTEN_MS),),
        first_dirty_offset=0,
        rules=Rules(
            now_ms=WRITTEN_MS,
            delete_retention_ms=0,
            max_message_bytes=1 << 20,
            upper_offset=end,
            producers={},
        ),
        segment_bytes=1 << 30,
        segment_index_bytes=10 << 20,
        index_interval_bytes=4096,
        map_bytes=MAP_BYTES,
        load_factor=0.9,
        bytes_per_second=1e12,
    )
