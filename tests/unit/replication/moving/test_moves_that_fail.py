"""Moves between log directories that cannot be made, or whose disks fail."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.cluster.news import Role
from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.protocol.errors import ErrorCode
from support.broker_world import LazyWorker
from support.moves_world import FAST, ME, ONE, OTHER, SLOW, THREE, TWO, MovesWorld, append, begun, values_of

if TYPE_CHECKING:
    from kcompat.log.files import Readable


def test_what_cannot_be_moved_is_refused(tmp_path: Path) -> None:
    world = MovesWorld(tmp_path)
    partition = world.create()
    long = "t" * 213
    infos = {0: PartitionInfo(OTHER, 0, (OTHER,), (OTHER,))}
    topics = [TopicImage("elsewhere", bytes(16), infos)]
    world.cluster.update(ClusterImage("cluster").with_topics(topics))
    assert world.moves.move("t", 0, f"{world.b}/") == ErrorCode.LOG_DIR_NOT_FOUND
    assert world.moves.move("none", 0, world.b) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.moves.move("elsewhere", 0, world.b) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert world.moves.move("elsewhere", 1, world.b) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.moves.move(f"{long}t", 0, "nowhere") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert world.moves.move(long, 0, "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert world.moves.move("t", 0, world.a) == ErrorCode.NONE
    assert (world.names(), partition.future) == (["a/t-0"], None)
    world.stop()


def test_a_replica_that_is_not_here_yet_is_made_where_it_was_asked_for(tmp_path: Path) -> None:
    world = MovesWorld(tmp_path)
    world.moves.move("t", 0, world.c)
    world.moves.move("t", 1, world.c)
    world.moves.move("t", 1, world.b)
    world.create(index=0)
    world.create(index=1)
    assert world.names() == ["b/t-1", "c/t-0"]
    world.logs.delete("t", 0)
    world.create(index=0)
    assert world.names() == ["a/t-0", "b/t-1", "c/t-0 delete"], "it was asked for once"
    world.stop()


def fault(world: MovesWorld, path: str, number: int = errno.EIO) -> None:
    directory = world.logs.directory(path)
    assert directory is not None
    directory.fault(OSError(number, "it has failed"))


def test_nothing_moves_to_or_from_a_failed_directory(tmp_path: Path) -> None:
    """Nor anywhere else, as a copy may be there already; but to stay is no move."""
    world = MovesWorld(tmp_path)
    partition = world.create()
    fault(world, world.b)
    assert world.moves.move("t", 0, world.b) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.moves.move("t", 0, world.c) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.moves.move("t", 0, world.a) == ErrorCode.NONE
    assert partition.future is None
    fault(world, world.a)
    assert world.moves.move("t", 0, world.a) == ErrorCode.KAFKA_STORAGE_ERROR
    world.stop()


def test_a_replica_is_not_made_elsewhere_than_where_it_was_asked_for(tmp_path: Path) -> None:
    world = MovesWorld(tmp_path)
    assert world.moves.move("t", 0, world.c) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fault(world, world.c)
    with pytest.raises(StorageError):
        world.create()
    world.stop()


def test_a_copy_whose_disk_fails_is_forgotten(slow: MovesWorld) -> None:
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
    world = MovesWorld(tmp_path, bytes_per_second=SLOW)
    partition = world.create()
    append(partition, ONE, TWO)
    begun(world, partition)
    fault(world, world.a)
    world.allow(FAST)
    world.moves.look_after()
    assert (partition.future, partition.log.context.path) == (None, world.a)
    assert world.moves.move("t", 0, world.c) == ErrorCode.KAFKA_STORAGE_ERROR
    world.crash()
    again = MovesWorld(tmp_path)
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
        """See `Files`."""
        if self.is_full and str(Path(f"/proc/self/fd/{fd}").readlink()).startswith(self._directory):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(fd, data, position)


def test_a_full_disk_passes(tmp_path: Path) -> None:
    files = FullDisk(str(tmp_path / "b"))
    world = MovesWorld(tmp_path, files=files)
    partition = world.create()
    append(partition, ONE, TWO)
    assert world.moves.move("t", 0, world.b) == ErrorCode.NONE
    files.is_full = True
    world.clock.advance(1000)
    world.moves.look_after()
    world.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (world.a, [ONE, TWO])
    files.is_full = False
    world.moves.look_after()
    world.clock.advance(1000)
    assert (partition.log.context.path, values_of(partition)) == (world.b, [ONE, TWO])
    world.stop()


class Faulty(Files):
    """The first renaming to a name of this kind is refused."""

    def __init__(self, suffix: str) -> None:
        self._suffix: str | None = suffix

    def rename(self, source: str, target: str) -> None:
        """See `Files`."""
        if self._suffix is not None and target.endswith(self._suffix):
            self._suffix = None
            raise OSError(errno.EIO, "Input/output error")
        super().rename(source, target)


def test_a_copy_that_cannot_be_renamed_takes_its_directory_offline_alone(tmp_path: Path) -> None:
    world = MovesWorld(tmp_path, files=Faulty("b/t-0"))
    partition = world.create()
    append(partition, ONE)
    world.moves.move("t", 0, world.b)
    world.clock.advance(1000)
    world.moves.look_after()
    assert (partition.log.context.path, partition.future) == (world.a, None)
    append(partition, TWO)
    assert values_of(partition) == [ONE, TWO]
    assert [directory.offline is None for directory in world.logs.directories] == [True, False, True]
    world.stop()


def test_an_original_that_cannot_be_renamed_is_replaced_all_the_same(tmp_path: Path) -> None:
    world = MovesWorld(tmp_path, files=Faulty("-delete"))
    partition = world.create()
    append(partition, ONE)
    world.moves.move("t", 0, world.b)
    world.clock.advance(1000)
    assert partition.log.context.path == world.b
    append(partition, TWO)
    assert values_of(partition) == [ONE, TWO]
    assert [directory.offline is None for directory in world.logs.directories] == [False, True, True]
    world.stop()


def test_a_copy_is_on_the_device_before_it_takes_the_place_of_the_log(tmp_path: Path) -> None:
    worker = LazyWorker()
    world = MovesWorld(tmp_path, worker=worker)
    partition = world.create()
    append(partition, ONE, TWO)
    world.moves.move("t", 0, world.b)
    world.clock.advance(500)
    future = world.logs.futures.get("t", 0)
    assert future is not None
    assert (future.log_end_offset, future.recovery_point) == (2, 0)
    append(partition, THREE)
    world.clock.advance(500)
    assert partition.log is not future
    assert partition.log.context.path == world.a
    worker.work()
    world.clock.advance(500)
    assert partition.log.context.path == world.b
    assert partition.log.recovery_point == 2
    assert values_of(partition) == [ONE, TWO, THREE]
    world.stop()
