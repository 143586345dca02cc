"""Moves between log directories that cannot be made, or whose disks fail."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.protocol.errors import ErrorCode
from support.replica_moves import (
    FAST,
    ME,
    ONE,
    OTHER,
    SLOW,
    THREE,
    TWO,
    MovesFixture,
    append,
    begun,
    values_of,
)
from support.storage_workers import LazyWorker

if TYPE_CHECKING:
    from kcompat.log.files import Readable


def test_what_cannot_be_moved_is_refused(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    long = "t" * 213
    infos = {0: PartitionInfo(OTHER, 0, (OTHER,), (OTHER,))}
    topics = [TopicImage("elsewhere", bytes(16), infos)]
    fixture.cluster.update(ClusterImage("cluster").with_topics(topics))
    assert fixture.moves.move("t", 0, f"{fixture.b}/") == ErrorCode.LOG_DIR_NOT_FOUND
    assert fixture.moves.move("none", 0, fixture.b) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fixture.moves.move("elsewhere", 0, fixture.b) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert fixture.moves.move("elsewhere", 1, fixture.b) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fixture.moves.move(f"{long}t", 0, "nowhere") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert fixture.moves.move(long, 0, "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert fixture.moves.move("t", 0, fixture.a) == ErrorCode.NONE
    assert (fixture.names(), partition.future) == (["a/t-0"], None)
    fixture.stop()


def test_a_replica_that_is_not_here_yet_is_made_where_it_was_asked_for(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    fixture.moves.move("t", 0, fixture.c)
    fixture.moves.move("t", 1, fixture.c)
    fixture.moves.move("t", 1, fixture.b)
    fixture.create(index=0)
    fixture.create(index=1)
    assert fixture.names() == ["b/t-1", "c/t-0"]
    fixture.logs.delete("t", 0)
    fixture.create(index=0)
    assert fixture.names() == ["a/t-0", "b/t-1", "c/t-0 delete"], "it was asked for once"
    fixture.stop()


def fault(fixture: MovesFixture, path: str, number: int = errno.EIO) -> None:
    directory = fixture.logs.directory(path)
    assert directory is not None
    directory.fault(OSError(number, "it has failed"))


def test_nothing_moves_to_or_from_a_failed_directory(tmp_path: Path) -> None:
    """Nor anywhere else, as a copy may be there already; but to stay is no move."""
    fixture = MovesFixture(tmp_path)
    partition = fixture.create()
    fault(fixture, fixture.b)
    assert fixture.moves.move("t", 0, fixture.b) == ErrorCode.KAFKA_STORAGE_ERROR
    assert fixture.moves.move("t", 0, fixture.c) == ErrorCode.KAFKA_STORAGE_ERROR
    assert fixture.moves.move("t", 0, fixture.a) == ErrorCode.NONE
    assert partition.future is None
    fault(fixture, fixture.a)
    assert fixture.moves.move("t", 0, fixture.a) == ErrorCode.KAFKA_STORAGE_ERROR
    fixture.stop()


def test_a_replica_is_not_made_elsewhere_than_where_it_was_asked_for(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path)
    assert fixture.moves.move("t", 0, fixture.c) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fault(fixture, fixture.c)
    with pytest.raises(StorageError):
        fixture.create()
    fixture.stop()


def test_a_copy_whose_disk_fails_is_forgotten(slow: MovesFixture) -> None:
    partition = slow.create()
    append(partition, ONE, TWO)
    begun(slow, partition)
    fault(slow, slow.b)
    slow.allow(FAST)
    slow.moves.look_after()
    assert (partition.future, slow.logs.futures.get("t", 0)) == (None, None)
    assert partition.log.context.path == slow.a
    append(partition, THREE)
    assert values_of(partition) == [ONE, TWO, THREE]
    assert slow.moves.move("t", 0, slow.c) == ErrorCode.KAFKA_STORAGE_ERROR
    slow.stop()


def test_a_copy_whose_original_fails_waits_for_it(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path, bytes_per_second=SLOW)
    partition = fixture.create()
    append(partition, ONE, TWO)
    begun(fixture, partition)
    fault(fixture, fixture.a)
    fixture.allow(FAST)
    fixture.moves.look_after()
    assert (partition.future, partition.log.context.path) == (None, fixture.a)
    assert fixture.moves.move("t", 0, fixture.c) == ErrorCode.KAFKA_STORAGE_ERROR
    fixture.crash()
    again = MovesFixture(tmp_path)
    partition = again.create(role=Role(ME, 1, (ME,), (ME,)))
    again.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (again.b, [ONE, TWO])
    again.stop()


class FullDisk(Files):
    """There is no room in files of this directory while `is_full`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.is_full = False

    def write(self, fd: int, data: Readable, position: int) -> int:
        if self.is_full and str(Path(f"/proc/self/fd/{fd}").readlink()).startswith(self._directory):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(fd, data, position)


def test_a_full_disk_passes(tmp_path: Path) -> None:
    files = FullDisk(str(tmp_path / "b"))
    fixture = MovesFixture(tmp_path, files=files)
    partition = fixture.create()
    append(partition, ONE, TWO)
    assert fixture.moves.move("t", 0, fixture.b) == ErrorCode.NONE
    files.is_full = True
    fixture.clock.advance(1000)
    fixture.moves.look_after()
    fixture.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (fixture.a, [ONE, TWO])
    files.is_full = False
    fixture.moves.look_after()
    fixture.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (fixture.b, [ONE, TWO])
    fixture.stop()


class Faulty(Files):
    """The first renaming to a name of this kind is refused."""

    def __init__(self, suffix: str) -> None:
        self._suffix: str | None = suffix

    def rename(self, source: str, target: str) -> None:
        if self._suffix is not None and target.endswith(self._suffix):
            self._suffix = None
            raise OSError(errno.EIO, "Input/output error")
        super().rename(source, target)


def test_a_copy_that_cannot_be_renamed_takes_its_directory_offline_alone(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path, files=Faulty("b/t-0"))
    partition = fixture.create()
    append(partition, ONE)
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(1000)
    fixture.moves.look_after()
    assert (partition.log.context.path, partition.future) == (fixture.a, None)
    append(partition, TWO)
    assert values_of(partition) == [ONE, TWO]
    assert [directory.offline is None for directory in fixture.logs.directories] == [True, False, True]
    fixture.stop()


def test_an_original_that_cannot_be_renamed_is_replaced_all_the_same(tmp_path: Path) -> None:
    fixture = MovesFixture(tmp_path, files=Faulty("-delete"))
    partition = fixture.create()
    append(partition, ONE)
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(1000)
    assert partition.log.context.path == fixture.b
    append(partition, TWO)
    assert values_of(partition) == [ONE, TWO]
    assert [directory.offline is None for directory in fixture.logs.directories] == [False, True, True]
    fixture.stop()


def test_a_copy_is_on_the_device_before_it_takes_the_place_of_the_log(tmp_path: Path) -> None:
    worker = LazyWorker()
    fixture = MovesFixture(tmp_path, worker=worker)
    partition = fixture.create()
    append(partition, ONE, TWO)
    fixture.moves.move("t", 0, fixture.b)
    fixture.clock.advance(500)
    future = fixture.logs.futures.get("t", 0)
    assert future is not None
    assert (future.log_end_offset, future.recovery_point) == (2, 0)
    append(partition, THREE)
    fixture.clock.advance(500)
    assert partition.log is not future
    assert partition.log.context.path == fixture.a
    worker.work()
    fixture.clock.advance(500)
    assert partition.log.context.path == fixture.b
    assert partition.log.recovery_point == 2
    assert values_of(partition) == [ONE, TWO, THREE]
    fixture.stop()
