"""A disk that fails under a partition: whatever is asked of it gets an error, and no exception."""

from __future__ import annotations

import errno
import inspect
from typing import TYPE_CHECKING, NoReturn

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.append import WITHOUT_PROOF
from kcompat.log.context import LogContext
from kcompat.log.epoch_file import EpochFile
from kcompat.log.epochs import LeaderEpochCache
from kcompat.log.errors import StorageError
from kcompat.log.files import FILES
from kcompat.log.loader import create_log
from kcompat.log.log import Log
from kcompat.log.names import LEADER_EPOCH_CHECKPOINT, LOG, TIME_INDEX, TXN_INDEX, segment_name
from kcompat.log.producers import ProducerState
from kcompat.log.segment import Segment
from kcompat.log.segments import Segments
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record
from kcompat.replication.coordinator_logs import TopicLog
from kcompat.replication.listing import offset_for, offsets_before
from kcompat.replication.partition import Partition
from kcompat.replication.reading import ANY_CONSUMER, READ_COMMITTED, FetchSpec, PartitionReader
from support.default_settings import log_settings
from support.faulty_files import BadSectors

from .conftest import ALONE, append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.replication.replica_manager import ReplicaManager

FAILED = ErrorCode.KAFKA_STORAGE_ERROR
OLD_MS = 1000


@pytest.fixture
def disk() -> BadSectors:
    return BadSectors()


@pytest.fixture
def partition(tmp_path: Path, disk: BadSectors, replicas: ReplicaManager) -> Partition:
    """Three segments, in the oldest an aborted transaction, and no record there with a timestamp."""
    context = LogContext(str(tmp_path), disk)
    log = create_log(tmp_path / "t-0", "t", 0, log_settings(), topic_id=bytes(16), now_ms=0, context=context)
    partition = replicas.add(log, topic_config(BrokerConfig(), {}), high_watermark=0)
    replicas.take_role("t", 0, ALONE)
    data = build_batch(
        [Record(0, -1, None, b"v")], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    abort = EndTransactionMarker(ControlType.ABORT, coordinator_epoch=0)
    marker = build_marker(abort, producer_id=7, producer_epoch=0, timestamp=-1, leader_epoch=0)
    for batch in (data, marker):
        view = memoryview(batch)
        partition.append(view, read_header(view), 1, 0, WITHOUT_PROOF)
    log.roll(0)
    append(partition, b"b", timestamp=OLD_MS)
    log.roll(0)
    append(partition, b"c", timestamp=OLD_MS + 1)
    return partition


QUESTIONS: dict[str, Callable[[Partition], object]] = {
    "append": lambda partition: append(partition, b"x"),
    "fetch": lambda partition: (
        partition.fetch(FetchSpec(0, 1000), PartitionReader(READ_COMMITTED), 1000, min_one_batch=True).error
    ),
    "offset_for": lambda partition: offset_for(partition, OLD_MS, PartitionReader(READ_COMMITTED), -1).error,
    "offsets_before": lambda partition: offsets_before(partition, -1, 1, ANY_CONSUMER, now_ms=0)[0],
    "delete_records_before": lambda partition: partition.delete_records_before(1)[0],
}
FROM_MEMORY = {
    "advance",
    "begin_verification",
    "check_epoch",
    "check_invariants",
    "committed",
    "deleted",
    "end_offset_for_epoch",
    "isr_accepted",
    "isr_refused",
    "leader_for",
    "note_fetch",
    "replace_log",
    "replica_for",
    "require_in_sync",
    "retire",
    "shrink_isr",
    "stop",
    "stored",
    "take_role",
    "wake_consumers",
    "wake_deletions",
}


def test_every_method_is_looked_at_here() -> None:
    methods = {name for name, _ in inspect.getmembers(Partition, inspect.isfunction) if name[0] != "_"}
    listing = {"offset_for", "offsets_before"}
    assert methods == (QUESTIONS.keys() - listing) | FROM_MEMORY


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("fetch", LOG),
        ("fetch", TXN_INDEX),
        ("offset_for", TIME_INDEX),
        ("offset_for", LOG),
        ("offsets_before", LOG),
        ("delete_records_before", LEADER_EPOCH_CHECKPOINT),
    ],
)
def test_who_asks_is_told_and_the_directory_goes_offline(
    partition: Partition, disk: BadSectors, name: str, bad: str
) -> None:
    disk.bad = bad
    assert (QUESTIONS[name](partition), partition.log.is_failed) == (FAILED, True)
    disk.bad = None
    assert [question(partition) for question in QUESTIONS.values()] == [FAILED] * len(QUESTIONS)


class Unguarded(Log):
    """Lets an exception of the system through."""

    def offset_for_timestamp(self, timestamp: int) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error")


def test_an_exception_of_the_system_that_nobody_mapped_is_mapped(
    tmp_path: Path, replicas: ReplicaManager
) -> None:
    directory, config = str(tmp_path / "t-0"), log_settings()
    log = Unguarded(
        directory,
        "t",
        0,
        bytes(16),
        config,
        LogContext(str(tmp_path)),
        segments=Segments([Segment(FILES, directory, 0, config, 0)]),
        epochs=EpochFile(FILES, directory, LeaderEpochCache()),
        producers=ProducerState(),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        now_ms=0,
        is_made=False,
    )
    partition = replicas.add(log, topic_config(BrokerConfig(), {}), high_watermark=0)
    replicas.take_role("t", 0, ALONE)
    assert (QUESTIONS["offset_for"](partition), partition.log.is_failed) == (FAILED, True)


@pytest.mark.leaves_damage("a record is no record any more")
def test_damaged_records_are_told_from_a_failed_disk(partition: Partition) -> None:
    """A time is looked up in the records themselves, which nothing else here reads."""
    base = partition.log.local.segments.base_offsets[1]
    path = f"{partition.log.directory}/{segment_name(base, LOG)}"
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(HEADER_SIZE)
        file.write(b"\xff")
    assert QUESTIONS["offset_for"](partition) == ErrorCode.CORRUPT_MESSAGE
    assert not partition.log.is_failed


def test_what_a_coordinator_reads_fails_as_storage_does(
    partition: Partition, disk: BadSectors, replicas: ReplicaManager
) -> None:
    log = TopicLog(replicas, "t")
    assert len(log.read(0, 0, 1000)) > 0
    disk.bad = LOG
    with pytest.raises(StorageError):
        log.read(0, 0, 1000)
    assert partition.log.is_failed
