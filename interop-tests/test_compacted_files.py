"""Kafka's tool, and a real broker, on logs that we compacted."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from kcompat.records.compression import Codec
from support.compaction import CompactionHarness
from support.default_settings import log_settings
from support.log_tools import what_kafka_finds_wrong, what_we_find_wrong

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough("Kafka's tool reads what all tests leave (support/left_directories.py)")

ROUNDS = 4


def fill(log: CompactionHarness, choice: random.Random, sequences: dict[int, int], now_ms: int) -> None:
    """Idempotent, transactional and plain batches in all codecs; every transaction is ended."""
    for number in range(60):
        count = choice.randrange(1, 5)
        pairs = [
            (b"k%d" % choice.randrange(40), choice.choice([None, b"v" * choice.randrange(90)]))
            for _ in range(count)
        ]
        producer_id = choice.randrange(4)
        sequence = sequences.get(producer_id, 0)
        producer = (producer_id, 0, sequence) if producer_id else (-1, -1, -1)
        transactional = producer_id > 1
        log.put(
            *pairs,
            codec=choice.choice(list(Codec)),
            timestamp=now_ms + number,
            producer=producer,
            transactional=transactional,
        )
        sequences[producer_id] = sequence + count
        if transactional and choice.random() < 0.5:
            log.end_transaction(producer_id, 0, commit=choice.random() < 0.5, timestamp=now_ms + number)
    for producer_id in (2, 3):
        log.end_transaction(producer_id, 0, commit=choice.random() < 0.5, timestamp=now_ms + 60)


def wrong_but_for_gaps(directory: Path) -> list[str]:
    """Return the faults that Kafka's tool finds, except for the missing offsets, which compaction intends."""
    found, gaps = [], False
    for line in what_kafka_finds_wrong(directory):
        gaps = line.startswith("Non-consecutive") or (gaps and "is followed by" in line)
        found += [] if gaps else [line]
    return found


@pytest.mark.leaves_gaps("compacted")
@pytest.mark.parametrize("seed", range(3))
def test_kafkas_tool_finds_nothing_wrong(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    config = log_settings(
        segment_bytes=3000,
        index_interval_bytes=choice.choice([0, 300]),
        delete_retention_ms=150,
        cleanup_policy=frozenset({"compact"}),
        file_delete_delay_ms=0,
    )
    log = CompactionHarness(tmp_path, config)
    sequences: dict[int, int] = {}
    clean_offset = 0
    for number in range(ROUNDS):
        fill(log, choice, sequences, 1000 + 100 * number)
        log.roll()
        end, reports = log.clean(clean_offset, now_ms=1000 + 100 * number)
        assert end == log.log.log_end_offset, reports
        clean_offset = end
    assert len(log.log.local.segments.base_offsets) > 2
    log.log.close()
    assert wrong_but_for_gaps(tmp_path) == []
    assert what_we_find_wrong(tmp_path) == ""
    log.reopen()
    log.log.close()
    assert wrong_but_for_gaps(tmp_path) == [], "what recovery rebuilt is right too"
