"""A broker that starts on what a crash left: what it holds, and whether it is sound and can go on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import parse_partition_metadata
from kcompat.log.dump.rows import DAMAGE
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, files_in
from kcompat.log.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCH_CHECKPOINT,
    LOCK,
    LOG,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    partition_directory,
)
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.topics import CONSUMER_OFFSETS
from support.crash_ledger import Facts, facts_of
from support.crash_scenario import MINUTE_MS, SETTINGS, START_MS
from support.disk import Commit
from support.lone_broker import BrokerFixture
from support.recorded_files import RecordingFiles, memory_directory
from support.storage_workers import LazyWorker

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.replication.partition import Partition
    from support.disk import Disk, DiskOperation

AFTERWARDS = {
    **SETTINGS,
    "log.cleaner.enable": "false",
    "log.retention.check.interval.ms": "9000000000000",
}
"""Nothing is cleaned or deleted: what is there shall stay as it is found."""

LATER_MS = START_MS + 60 * MINUTE_MS
ROOT_FILES = {
    LOCK,
    META_PROPERTIES,
    RECOVERY_POINTS,
    LOG_STARTS,
    HIGH_WATERMARKS,
    CLEANER_OFFSETS,
    CLEAN_SHUTDOWN,
}


def revived(disk: Disk, *, lives_on: bool = False) -> Facts:
    """Return the state of a broker that starts on this disk.

    With `lives_on` the broker also goes on, stops, and starts again.
    """
    with memory_directory() as home:
        disk.write_to(home)
        return asyncio.run(_revive(home, disk, lives_on))


def revival_of(disk: Disk) -> tuple[list[DiskOperation], int]:
    """Return the file operations of a broker that starts on this disk, and how many of them made the disk."""
    with memory_directory() as home:
        disk.write_to(home)
        files = RecordingFiles(home)
        files.operations.insert(0, Commit(disk.zxid, dict(disk.nodes)))
        made = len(files.operations)
        asyncio.run(_start_and_die(home, disk, files))
        return list(files.operations), made


async def _start_and_die(home: Path, disk: Disk, files: RecordingFiles) -> None:
    fixture = BrokerFixture(
        home, AFTERWARDS, disk, files.operations, LATER_MS, files=files, worker=LazyWorker
    )
    await fixture.start()
    fixture.kill()


async def _revive(home: Path, disk: Disk, lives_on: bool) -> Facts:
    later: list[DiskOperation] = []
    fixture = BrokerFixture(home, AFTERWARDS, disk, later, LATER_MS, worker=LazyWorker)
    await fixture.start()
    facts = facts_of(fixture)
    if not lives_on:
        fixture.kill()
    else:
        for partition in fixture.replicas:
            if partition.topic != CONSUMER_OFFSETS:
                go_on(partition)
        grown = facts_of(fixture)
        fixture.clock.advance(MINUTE_MS)
        await fixture.stop()
        for operation in later:
            disk.apply(operation)
        again = BrokerFixture(home, AFTERWARDS, disk, later, LATER_MS + 10 * MINUTE_MS, worker=LazyWorker)
        await again.start()
        assert again.logs.directories[0].was_clean
        assert_same(facts_of(again), grown)
        await again.stop()
        check_tidiness(home, again)
    return facts


def go_on(partition: Partition) -> None:
    """One more record is taken, and has the next offset."""
    batch = memoryview(build_batch([Record(0, LATER_MS + 1, b"later", b"later")]))
    end = partition.log.log_end_offset
    result = partition.append(batch, read_header(batch), -1, LATER_MS + 1)
    assert not isinstance(result, ErrorCode), result
    assert (result.error, result.base_offset) == (ErrorCode.NONE, end)


def assert_same(found: Facts, expected: Facts) -> None:
    """After a clean stop nothing is different."""
    assert found.committed == expected.committed
    assert found.logs.keys() == expected.logs.keys()
    for place, log in found.logs.items():
        before = expected.logs[place]
        assert (log.records, log.start, log.end) == (before.records, before.start, before.end)
        assert log.safe == log.end


def check_tidiness(home: Path, fixture: BrokerFixture) -> None:
    """After a clean stop there is no file that nobody needs, and none that is damaged."""
    image = fixture.cluster.image
    directories = {
        partition_directory(name, index): topic.topic_id
        for name, topic in image.topics.items()
        for index in range(len(topic.partitions))
    }
    allowed = ROOT_FILES | {f"{name}.tmp" for name in ROOT_FILES} | directories.keys()
    found = {path.name for path in home.iterdir()}
    assert found <= allowed, f"left over: {found - allowed}"
    for name, topic_id in directories.items():
        directory = home / name
        names = {path.name for path in directory.iterdir()}
        bases = {name.removesuffix(LOG) for name in names if name.endswith(LOG)}
        segments = {base + suffix for base in bases for suffix in SEGMENT_SUFFIXES}
        snapshots = {name for name in names if name.endswith(SNAPSHOT)}
        assert len(snapshots) <= len(bases) + 1, f"{directory.name}: {sorted(names)}"
        assert PARTITION_METADATA in names
        assert names - segments - snapshots <= {PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT}, names
        stored = parse_partition_metadata((directory / PARTITION_METADATA).read_bytes())
        assert stored == topic_id, f"{directory} has another topic id"
    dumper = Dumper(Depth(verify=True))
    needed = {str(max((home / name).glob(f"*{SNAPSHOT}"), default="")) for name in directories}
    for file in files_in([str(home)]):
        if file.path.endswith(SNAPSHOT) and file.path not in needed:
            continue  # one that is damaged is passed over, and goes with its segment
        damaged = [row for row in dumper.rows(file) if row.kind == DAMAGE]
        assert not damaged, (file.path, damaged)
