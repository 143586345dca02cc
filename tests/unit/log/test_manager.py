from __future__ import annotations

import errno
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.errors import LogDirectoryError, StorageError
from kcompat.log.files import FILES, Files
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.faulty_files import BadSectors, FaultyFiles
from support.log_harness import make_batch
from support.log_manager import log_manager, log_of
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

CONFIG = log_settings(segment_bytes=250, retention_ms=-1)
TOPIC_ID = bytes(range(16))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def start(
    clock: VirtualClock, *paths: Path, files: Files = FILES, broker_id: int = 1, cluster_id: str = "c"
) -> LogManager:
    manager = log_manager(paths, clock, files)
    manager.open(broker_id, cluster_id, CONFIG)
    return manager


def kill(manager: LogManager) -> None:
    """Let go of the directories as a killed process does: nothing is flushed, nothing written."""
    for directory in manager.directories:
        directory.abandon()


def append(log: Log, count: int = 1) -> None:
    for _ in range(count):
        batch = memoryview(make_batch())
        log.append_as_leader(batch, read_header(batch), 0, 1000)


def test_a_new_directory_gets_its_identity(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path / "new" / "data", cluster_id="abc")
    manager.close()
    written = (tmp_path / "new" / "data" / "meta.properties").read_text()
    assert written == "broker.id=1\ncluster.id=abc\nversion=0\n"


@pytest.mark.leaves_damage("its file is no log")
def test_the_log_of_a_kraft_controller_is_left_alone(tmp_path: Path, clock: VirtualClock) -> None:
    for name in ("__cluster_metadata-0", "t-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00000000000000000000.log").write_bytes(bytes(make_batch()) + b"torn")
    manager = start(clock, tmp_path)
    assert [(log.topic, log.log_end_offset) for log in manager] == [("t", 1)]
    manager.close()
    (only,) = (tmp_path / "__cluster_metadata-0").iterdir()
    assert only.read_bytes() == bytes(make_batch()) + b"torn"


def test_a_second_opener_is_refused_with_a_sentence(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    with pytest.raises(LogDirectoryError, match="in use by another broker"):
        start(clock, tmp_path)
    manager.close()
    start(clock, tmp_path).close()


HOLD_A_LOCK = """
import sys
from kcompat.log.files import FILES
lock = FILES.lock(sys.argv[1])
print("locked", flush=True)
input()
"""


def test_another_process_is_refused(tmp_path: Path, clock: VirtualClock) -> None:
    command = [sys.executable, "-c", HOLD_A_LOCK, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(LogDirectoryError, match="in use by another broker"):
            start(clock, tmp_path)
        child.communicate(b"\n")
    start(clock, tmp_path).close()


def test_a_foreign_broker_or_cluster_is_refused(tmp_path: Path, clock: VirtualClock) -> None:
    start(clock, tmp_path).close()
    with pytest.raises(LogDirectoryError, match="belong to broker 1, but this is broker 2"):
        start(clock, tmp_path, broker_id=2)
    with pytest.raises(LogDirectoryError, match="belong to cluster c, but this broker is part of cluster d"):
        start(clock, tmp_path, cluster_id="d")
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=x\n")
    start(clock, tmp_path).close()


@pytest.mark.parametrize(
    ("written", "found"),
    [("version=2\n", "version=2"), ("", "no version"), ("no properties\n", "no version")],
)
def test_an_identity_of_an_unknown_version_is_refused(
    tmp_path: Path, clock: VirtualClock, written: str, found: str
) -> None:
    (tmp_path / "meta.properties").write_text(f"{written}broker.id=1\ncluster.id=c\n")
    with pytest.raises(LogDirectoryError, match=f"has {found}, where Kafka writes 0 or 1: restore"):
        start(clock, tmp_path)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogDirectoryError, match="No log directory can be used"):
        start(clock, tmp_path / "file")


def test_logs_survive_a_clean_stop(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    for partition in range(3):
        append(manager.create("t", partition, TOPIC_ID, CONFIG), 5)
    log_of(manager, "t", 1).delete_records_before(3)
    manager.checkpoint_high_watermarks({("t", 0): 4, ("t", 1): 5, ("other", 0): 9})
    manager.close()
    assert (tmp_path / ".kafka_cleanshutdown").read_bytes() == b'{"version":0,"brokerEpoch":-1}'
    assert (tmp_path / "recovery-point-offset-checkpoint").read_bytes() == b"0\n3\nt 0 5\nt 1 5\nt 2 5\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_bytes() == b"0\n1\nt 1 3\n"
    assert (tmp_path / "replication-offset-checkpoint").read_bytes() == b"0\n2\nt 0 4\nt 1 5\n"

    manager = start(clock, tmp_path)
    assert not (tmp_path / ".kafka_cleanshutdown").exists(), "a crash while loading counts as unclean"
    assert manager.directories[0].was_clean
    log = log_of(manager, "t", 1)
    assert (log.topic_id, log.log_start_offset, log.log_end_offset, log.recovery_point) == (TOPIC_ID, 3, 5, 5)
    assert [manager.high_watermark(log) for log in manager] == [4, 5, 0]
    assert manager.get("t", 9) is None
    manager.close()


def test_logs_survive_a_kill(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 7)
    log.delete_records_before(4)
    kill(manager)
    manager = start(clock, tmp_path)
    assert not manager.directories[0].was_clean
    log = log_of(manager, "t", 0)
    assert (log.log_start_offset, log.log_end_offset) == (4, 7), "an acknowledged DeleteRecords is kept"
    log.check_invariants()
    manager.close()


@pytest.mark.parametrize("content", [b"garbage\n", b"", b"0\n5\n", bytes(100)])
def test_garbage_checkpoints_do_not_prevent_a_start(
    tmp_path: Path, clock: VirtualClock, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    manager = start(clock, tmp_path)
    append(manager.create("t", 0, TOPIC_ID, CONFIG), 7)
    manager.close()
    names = [
        f"{name}-offset-checkpoint" for name in ("recovery-point", "log-start", "replication", "cleaner")
    ]
    for name in names:
        (tmp_path / name).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        manager = start(clock, tmp_path)
    assert len([record for record in caplog.records if "damaged" in record.message]) == (4 if content else 0)
    assert not any((tmp_path / name).exists() for name in names if content), "they would be damaged for ever"
    assert log_of(manager, "t", 0).log_end_offset == 7
    manager.close()


def test_a_deleted_partition_is_renamed_at_once_and_removed_later(
    tmp_path: Path, clock: VirtualClock
) -> None:
    manager = start(clock, tmp_path)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 3)
    data = log.read(0, 1000, 3)
    assert data is not None
    manager.delete("t", 0)
    manager.delete("t", 0)
    assert manager.get("t", 0) is None
    (renamed,) = [path.name for path in tmp_path.iterdir() if path.is_dir()]
    assert renamed.startswith("t-0.")
    assert renamed.endswith("-delete")
    with pytest.raises(StorageError):
        append(log)
    append(manager.create("t", 0, TOPIC_ID, CONFIG))
    clock.advance(59_000)
    manager._worker.close()
    assert (tmp_path / renamed).exists()
    clock.advance(1_000)
    manager._worker.close()
    assert not (tmp_path / renamed).exists()
    assert len(data.read()) > 0, "who still sends from it can finish"
    manager.close()


def test_deletions_that_a_stop_interrupted_go_on_at_the_next_start(
    tmp_path: Path, clock: VirtualClock
) -> None:
    """The deletions happen after `log.segment.delete.delay.ms`."""
    manager = start(clock, tmp_path)
    append(manager.create("t", 0, TOPIC_ID, CONFIG))
    manager.delete("t", 0)
    manager.close()
    manager = log_manager([tmp_path], clock)
    manager.open(1, "c", log_settings(file_delete_delay_ms=5_000))
    assert manager.get("t", 0) is None
    clock.advance(4_999)
    manager._worker.close()
    assert len(list(tmp_path.glob("*-delete"))) == 1
    clock.advance(1)
    manager.close()
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_retention_deletes_files_after_the_delay_in_slices(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    config = log_settings(segment_bytes=250, retention_ms=10, file_delete_delay_ms=500)
    logs = [manager.create("t", partition, TOPIC_ID, config) for partition in range(40)]
    for log in logs:
        append(log, 5)
    manager.enforce_retention(clock.now_ms(), lambda log: log.log_end_offset)
    assert 0 < sum(log.size == 0 for log in logs) < 40, "the first slice runs at once, the others later"
    clock.advance(10)
    assert all(log.size == 0 and log.log_start_offset == 5 for log in logs)
    manager._worker.close()
    assert list((tmp_path / "t-0").glob("*.deleted"))
    clock.advance(500)
    manager._worker.close()
    assert not list(tmp_path.glob("*/*.deleted"))
    assert {path.name for path in (tmp_path / "t-0").glob("*.log")} == {"00000000000000000005.log"}
    manager.close()


def test_recovery_points_are_stored_as_syncs_complete(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    append(manager.create("t", 0, TOPIC_ID, CONFIG), 5)
    manager._worker.close()
    manager.checkpoint_recovery_points()
    manager._worker.close()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_bytes() == b"0\n1\nt 0 4\n"
    manager.close()


def test_new_logs_go_to_the_directory_with_the_fewest(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path / "a", tmp_path / "b")
    for partition in range(4):
        manager.create("t", partition, TOPIC_ID, CONFIG)
    assert [directory.count() for directory in manager.directories] == [2, 2]
    assert manager.directories[0].volume_bytes()[0] > 0
    manager.close()


def test_a_partition_in_two_directories_is_refused(tmp_path: Path, clock: VirtualClock) -> None:
    for name in ("a", "b"):
        manager = start(clock, tmp_path / name)
        manager.create("t", 0, TOPIC_ID, CONFIG)
        manager.close()
    with pytest.raises(LogDirectoryError, match="only one can be"):
        start(clock, tmp_path / "a", tmp_path / "b")


def test_a_log_goes_to_the_directory_that_was_asked_for(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path / "a", tmp_path / "b")
    manager.futures.prefer("t", 0, str(tmp_path / "b"))
    assert [manager.create("t", index, TOPIC_ID, CONFIG).context.path[-1] for index in range(2)] == ["b", "a"]
    manager.close()


def test_a_directory_that_cannot_be_made_is_offline_while_another_serves(
    tmp_path: Path, clock: VirtualClock
) -> None:
    (tmp_path / "file").write_text("")
    manager = start(clock, tmp_path / "file", tmp_path / "b")
    assert [directory.offline is None for directory in manager.directories] == [False, True]
    manager.close()


def test_a_truncation_stores_recovery_points_at_once(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 5)
    log.flush()
    manager.checkpoint_recovery_points()
    log.truncate_to(2)
    append(log, 5)
    kill(manager)
    assert (tmp_path / "recovery-point-offset-checkpoint").read_bytes() == b"0\n1\nt 0 2\n"
    manager = start(clock, tmp_path)
    assert log_of(manager, "t", 0).log_end_offset == 7
    manager.close()


def test_a_truncation_has_them_on_the_device_before_the_next_append(
    tmp_path: Path, clock: VirtualClock
) -> None:
    """An append may overwrite in the file what the old recovery point vouches for."""
    synced: list[bytes] = []
    points = tmp_path / "recovery-point-offset-checkpoint"

    class Watched(Files):
        def sync_directory(self, path: str) -> None:
            if path == str(tmp_path) and points.exists():
                synced.append(points.read_bytes())

    manager = log_manager([tmp_path], clock, Watched())
    manager.open(1, "cluster", CONFIG)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 5)
    log.flush()
    log.truncate_to(2)
    assert synced == [b"0\n1\nt 0 2\n"]
    manager.close()


def test_a_fault_takes_one_directory_offline(
    tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    files = FaultyFiles()
    manager = start(clock, tmp_path / "a", tmp_path / "b", files=files)
    first, second = (manager.create("t", partition, TOPIC_ID, CONFIG) for partition in range(2))
    append(first)
    append(second)
    files.fault = OSError(errno.EIO, "Input/output error")
    with pytest.raises(StorageError):
        append(first)
    with pytest.raises(StorageError):
        append(first)
    append(second)
    assert manager.directories[0].offline
    (said,) = caplog.messages
    assert said.startswith(f"storage fault in {tmp_path / 'a'}: [Errno 5] Input/output error")
    assert said.endswith("offline until the next start")
    assert manager.create("t", 2, TOPIC_ID, CONFIG).context is manager.directories[1]
    manager.close()
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()


class UnreadableFiles(Files):
    """Cannot list directories below `bad`."""

    def __init__(self, bad: str) -> None:
        self.bad = bad

    def list(self, path: str) -> Any:
        if path.startswith(self.bad):
            raise OSError(errno.EIO, "Input/output error")
        return super().list(path)


def test_an_unreadable_directory_is_offline_while_another_serves(tmp_path: Path, clock: VirtualClock) -> None:
    files = UnreadableFiles(str(tmp_path / "a"))
    manager = start(clock, tmp_path / "a", tmp_path / "b", files=files)
    assert [directory.offline is None for directory in manager.directories] == [False, True]
    manager.close()
    with pytest.raises(LogDirectoryError, match="Input/output error"):
        start(clock, tmp_path / "a", files=files)


def test_producers_expire_everywhere(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    batch = memoryview(make_batch(producer_id=5, producer_epoch=0, base_sequence=0))
    log.append_as_leader(batch, read_header(batch), 0, 1000)
    manager.expire_producers(1000 + 10, 11)
    assert len(log.producers) == 1
    manager.expire_producers(1000 + 11, 11)
    assert log.producers == []
    manager.close()


def test_a_volume_that_says_nothing_has_failed(tmp_path: Path, clock: VirtualClock) -> None:
    files = BadSectors()
    manager = start(clock, tmp_path, files=files)
    (directory,) = manager.directories
    assert min(directory.volume_bytes()) > 0
    files.bad = ""
    with pytest.raises(StorageError):
        directory.volume_bytes()
    assert directory.offline is not None
    manager.close()
