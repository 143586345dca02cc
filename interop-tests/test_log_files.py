"""Kafka's tool reads our partition directories; our log reads those of a real Kafka, stopped or killed."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcompat.log.append import BY_COORDINATOR, WITHOUT_PROOF
from kcompat.log.loader import create_log, open_log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.compaction import CompactionHarness
from support.default_settings import log_settings
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.log_tools import dump_log_segments, files_in, what_kafka_finds_wrong, what_we_find_wrong

if TYPE_CHECKING:
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("Kafka's tool reads what all tests leave (support/left_directories.py)")

COUNT = 300
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SEGMENTS = {"segment.bytes": "20000", "index.interval.bytes": "500", "file.delete.delay.ms": "1"}


def test_kafkas_tool_reads_our_files(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    config = log_settings(segment_bytes=20_000, index_interval_bytes=500)
    log = create_log(directory, "t", 0, config, topic_id=bytes(range(16)), now_ms=0)
    for number in range(COUNT):
        records = [Record(0, 1000 + number, b"k", b"v" * 120, ())]
        transactional = number % 50 > 40
        batch = memoryview(
            build_batch(
                records, producer_id=7, producer_epoch=0, base_sequence=number, transactional=transactional
            )
        )
        log.append_as_leader(batch, read_header(batch), number // 100, 0, WITHOUT_PROOF)
        if number % 50 == 49:
            marker = EndTransactionMarker(ControlType(number // 50 % 2), 2)
            batch = memoryview(
                build_marker(marker, producer_id=7, producer_epoch=0, timestamp=1000 + number, leader_epoch=0)
            )
            log.append_as_leader(batch, read_header(batch), number // 100, 0, BY_COORDINATOR)
    segments = len(log.local.segments.base_offsets)
    log.close()

    assert len(files_in(directory, ".index", ".timeindex")) == 2 * segments
    assert what_kafka_finds_wrong(directory) == []
    assert what_we_find_wrong(directory) == ""
    logs = ",".join(files_in(directory, ".log"))
    read = dump_log_segments("--deep-iteration", "--files", logs, directory=directory)
    assert read.count("isvalid: true") == COUNT + COUNT // 50
    others = ",".join(files_in(directory, ".txnindex", ".snapshot"))
    states = dump_log_segments("--files", others, directory=directory)
    assert states.count("firstOffset: ") == 3
    assert f"lastSequence: {COUNT - 1}" in states


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_our_log_reads_kafkas_files(tmp_path: Path, end: str) -> None:
    settings = {
        "log.segment.bytes": "20000",
        "log.index.interval.bytes": "500",
        "log.retention.ms": "-1",
        "num.partitions": "1",
    }
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
    log = open_log(directory, "t", 0, log_settings(), now_ms=0, clean=end == "stop")
    log.check_invariants()
    assert log.log_end_offset == COUNT
    assert log.epochs.cache.latest == 0
    assert log.producers[0].last_sequence == COUNT - 1
    assert len(log.local.segments.base_offsets) > 1
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


def produce(broker: BrokerProcess, topic: str, codec: str = "none", first_timestamp: int = -1) -> None:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
            "batch.size": 1000,
        }
    )
    now_ms = int(time.time() * 1000) if first_timestamp < 0 else first_timestamp
    for number in range(COUNT):
        producer.produce(topic, f"v{number}".encode() * 30, f"k{number}".encode(), timestamp=now_ms + number)
        producer.poll(0)
    assert producer.flush(30) == 0


def create(broker: BrokerProcess, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    settings = SEGMENTS | {key.replace("_", "."): value for key, value in config.items()}
    (created,) = admin.create_topics([NewTopic(topic, 1, 1, config=settings)]).values()
    created.result(30)


def segments(broker: BrokerProcess, topic: str) -> list[Path]:
    return sorted((broker.home / "data" / f"{topic}-0").glob("*.log"))


def test_nothing_is_wrong_in_what_our_broker_leaves(tmp_path: Path) -> None:
    quick = {"log.retention.check.interval.ms": "100", "log.initial.task.delay.ms": "0"}
    with KcompatBroker(quick, tmp_path) as broker:
        for codec in CODECS:
            create(broker, f"t-{codec}")
            produce(broker, f"t-{codec}", codec)
        create(broker, "bounded", retention_bytes="30000")
        produce(broker, "bounded")
        create(broker, "old", retention_ms="1000")
        produce(broker, "old", first_timestamp=1000)
        create(broker, "cut")
        produce(broker, "cut")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        (cut,) = admin.delete_records([TopicPartition("cut", 0, 123)]).values()
        assert cut.result(30).low_watermark == 123
        eventually(lambda: 1 <= len(segments(broker, "bounded")) <= 2, "old segments are gone by size")
        eventually(lambda: segments(broker, "old")[0].stem != "0" * 20, "old segments are gone by time")
        broker.kill()
        torn = segments(broker, "t-none")[-1]
        size = torn.stat().st_size
        with torn.open("ab") as file:
            file.write(torn.read_bytes()[:200])
        assert f"  {size}  DAMAGE" in what_we_find_wrong(tmp_path / "data")
        broker.start()
        assert torn.stat().st_size == size
        for codec in CODECS:
            produce(broker, f"t-{codec}", codec)
        broker.stop()
    assert what_kafka_finds_wrong(tmp_path / "data") == []
    assert what_we_find_wrong(tmp_path / "data") == ""


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_nothing_is_wrong_in_what_kafka_leaves(end: str) -> None:
    with RealKafka() as kafka:
        for codec in CODECS:
            create(kafka, f"t-{codec}")
            produce(kafka, f"t-{codec}", codec)
        for finish in ("commit_transaction", "abort_transaction"):
            producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": finish})
            producer.init_transactions(30)
            producer.begin_transaction()
            producer.produce("t-lz4", b"v")
            getattr(producer, finish)(30)
        getattr(kafka, end)()
        assert what_we_find_wrong(kafka.home / "data") == ""


@pytest.mark.leaves_damage("a bit is flipped, to see whether it is noticed")
@pytest.mark.parametrize(("suffix", "byte"), [(".log", 3000), (".index", 15), (".timeindex", 11)])
def test_the_judges_notice_a_flipped_bit(tmp_path: Path, suffix: str, byte: int) -> None:
    log = create_log(
        tmp_path / "t-0", "t", 0, log_settings(index_interval_bytes=500), topic_id=bytes(16), now_ms=0
    )
    for number in range(COUNT):
        batch = memoryview(build_batch([Record(0, 1000 + number, b"k", b"v" * 120, ())]))
        log.append_as_leader(batch, read_header(batch), 0, 0)
    log.close()
    assert what_kafka_finds_wrong(tmp_path) == []
    assert what_we_find_wrong(tmp_path) == ""
    path = tmp_path / "t-0" / f"{0:020d}{suffix}"
    content = bytearray(path.read_bytes())
    content[byte] ^= 8
    path.write_bytes(content)
    assert what_kafka_finds_wrong(tmp_path) != []
    assert f"DAMAGE  {path}" in what_we_find_wrong(tmp_path)


@pytest.mark.leaves_gaps("compacted")
def test_nothing_is_wrong_in_a_compacted_log_but_gaps(tmp_path: Path) -> None:
    config = log_settings(segment_bytes=3000, index_interval_bytes=200, cleanup_policy=frozenset({"compact"}))
    harness = CompactionHarness(tmp_path, config)
    cleaned = 0
    for number in range(COUNT):
        pairs = [(b"k%d" % (number * step % 17), b"v" * step or None) for step in (0, 7, 60)]
        producer = 5 + number % 2, 0, number // 2 * len(pairs)
        codec = Codec(number % len(Codec))
        transactional = number % 2 == 1
        put = harness.put(
            *pairs, timestamp=1000 + number, codec=codec, producer=producer, transactional=transactional
        )
        assert not put.error
        if number % 10 == 9:
            harness.end_transaction(6, 0, commit=number % 20 == 9, timestamp=1000 + number)
        if number % 100 == 99:
            harness.roll()
            cleaned = harness.clean(cleaned)[0] or 0
    assert cleaned == harness.log.log_end_offset
    assert len(harness.records()) < COUNT
    harness.log.close()
    assert what_we_find_wrong(tmp_path) == ""
    wrong = what_kafka_finds_wrong(tmp_path)
    assert wrong
    assert all(line.startswith("Non-consecutive offsets in ") for line in wrong)
