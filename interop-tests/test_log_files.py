"""Kafka's tool reads our partition directories; our log reads those of a real Kafka, stopped or killed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from real_kafka import RealKafka, class_path, java

from kcompat.log.config import LogConfig
from kcompat.log.log import AppendOrigin, Log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 300


def dump(*arguments: str, directory: Path) -> str:
    command = [java(), "-Xmx128m", "-cp", class_path("3.9.2"), "kafka.tools.DumpLogSegments", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


def files(directory: Path, *suffixes: str) -> str:
    return ",".join(sorted(path.name for path in directory.iterdir() if path.suffix in suffixes))


def test_kafkas_tool_reads_our_files(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    config = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
    log = Log.create(directory, "t", 0, config, topic_id=bytes(range(16)), now_ms=0)
    for number in range(COUNT):
        records = [Record(0, 1000 + number, b"k", b"v" * 120, ())]
        transactional = number % 50 > 40
        batch = memoryview(
            build_batch(
                records, producer_id=7, producer_epoch=0, base_sequence=number, transactional=transactional
            )
        )
        log.append_as_leader(batch, read_header(batch), number // 100, 0)
        if number % 50 == 49:
            marker = EndTransactionMarker(ControlType(number // 50 % 2), 2)
            batch = memoryview(
                build_marker(marker, producer_id=7, producer_epoch=0, timestamp=1000 + number, leader_epoch=0)
            )
            log.append_as_leader(batch, read_header(batch), number // 100, 0, AppendOrigin.COORDINATOR)
    segments = len(log.segment_base_offsets)
    log.close()

    indexes = files(directory, ".index", ".timeindex")
    checked = dump("--index-sanity-check", "--files", indexes, directory=directory)
    assert checked.count("passed sanity check") == 2 * segments
    read = dump(
        "--deep-iteration", "--files", files(directory, ".log", ".index", ".timeindex"), directory=directory
    )
    assert "mismatch" not in read.lower()
    assert "not found" not in read.lower()
    assert read.count("isvalid: true") == COUNT + COUNT // 50
    states = dump("--files", files(directory, ".txnindex", ".snapshot"), directory=directory)
    assert states.count("firstOffset: ") == 3
    assert f"lastSequence: {COUNT - 1}" in states


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_our_log_reads_kafkas_files(tmp_path: Path, end: str) -> None:
    settings = {"log.segment.bytes": "20000", "log.index.interval.bytes": "500", "num.partitions": "1"}
    with RealKafka(properties=settings) as kafka:
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "batch.size": 1000}
        )
        for number in range(COUNT):
            producer.produce("t", f"v{number}".encode() * 30, f"k{number}".encode(), timestamp=1000 + number)
            if number % 3 == 2:
                producer.poll(0)
        assert producer.flush(30) == 0
        getattr(kafka, end)()
        directory = tmp_path / "t-0"
        shutil.copytree(kafka.home / "data" / "t-0", directory)
    log = Log.open(directory, "t", 0, LogConfig(), now_ms=0, clean=end == "stop")
    log.check_invariants()
    assert log.log_end_offset == COUNT
    assert log.latest_epoch == 0
    assert log.producers[0].last_sequence == COUNT - 1
    assert len(log.segment_base_offsets) > 1
    for number in range(COUNT):
        found = log.offset_for_timestamp(1000 + number)
        assert found is not None
        assert (found.offset, found.timestamp) == (number, 1000 + number)
    assert log.max_timestamp_offset() == found
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    log.close()
    if end == "stop":
        after = {path.name: path.read_bytes() for path in directory.iterdir()}
        assert after == before, "nothing was appended, so nothing changed"
