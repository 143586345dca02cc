"""A broker of three log directories whose replicas can be moved between them; its time stands still."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.files import FILES
from kcompat.log.manager import LogManager
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, iter_headers, read_header, read_records
from kcompat.records.record import Record
from kcompat.replication.moving.moves import Moves, moves_config
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from support.default_settings import fetcher_settings, log_settings
from support.storage_workers import EagerWorker
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.files import Files
    from kcompat.replication.partition import Partition
    from support.storage_workers import LazyWorker

ME, OTHER = 1, 2
TOPIC_ID = b"i" * 16
LEADS = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME,))
FOLLOWS = Role(leader=OTHER, leader_epoch=0, isr=(OTHER,), replicas=(ME, OTHER))
ONE_BATCH = 64
"""A fetch of a copy brings one batch of records: more bytes than that are in each."""
ONE, TWO, THREE = b"1" * 100, b"2" * 100, b"3" * 100
"""Values of records."""

SLOW = 1
"""Bytes per second: after one batch the copy waits for a long time."""
FAST = 1 << 40


class MovesFixture:
    """One life of the broker, from its start to `stop` or `crash`."""

    def __init__(
        self,
        home: Path,
        *,
        bytes_per_second: int = FAST,
        files: Files = FILES,
        worker: LazyWorker | None = None,
        copiers: int = 1,
        seed: int = 0,
    ) -> None:
        """`worker` does what the storage thread does; one that does it at once if none is given. Each
        life in the same home needs another `seed`.
        """
        self.clock = VirtualClock()
        self.home = home
        self.a, self.b, self.c = (str(home / name) for name in "abc")
        thread = worker or EagerWorker()
        self.logs = LogManager(
            [self.a, self.b, self.c], self.clock, files, lambda _name, _threads: thread, Random(seed)
        )
        self.logs.open(ME, "cluster", log_settings())
        self.cluster = MetadataCache("cluster")
        self.replicas = ReplicaManager(ME, self.clock, self.cluster)
        self._config = replace(
            moves_config(BrokerConfig()),
            fetcher=fetcher_settings(partition_max_bytes=ONE_BATCH, behind_max_bytes=ONE_BATCH),
            copiers=copiers,
            bytes_per_second=bytes_per_second,
        )
        self.moves = Moves(ME, self.logs, self.replicas, self.clock, self._config)
        self.replicas.add_fetcher(self.moves)

    def create(self, topic: str = "t", index: int = 0, role: Role = LEADS, **overrides: str) -> Partition:
        """A partition with a new log, or the one that was found; overrides are configs, with "_" for "."."""
        configs = {name.replace("_", "."): text for name, text in overrides.items()}
        config = topic_config(BrokerConfig(), configs)
        log = self.logs.get(topic, index)
        if log is None:
            log = self.logs.create(topic, index, TOPIC_ID, log_config(config))
            self.clock.advance(100)
        else:
            log.update_config(log_config(config))
        partition = self.replicas.add(log, config, self.logs.high_watermark(log))
        assert not self.replicas.take_role(topic, index, role)
        return partition

    def allow(self, bytes_per_second: int) -> None:
        """Limit the moves anew; those that were held go on within a second."""
        self._config = replace(self._config, bytes_per_second=bytes_per_second)
        self.moves.configure(self._config)
        self.clock.advance(1000)

    def stop(self) -> None:
        """Stop the broker cleanly."""
        self.moves.close()
        self.logs.checkpoint_high_watermarks(self.replicas.high_watermarks())
        self.logs.close()

    def crash(self) -> None:
        """End the broker as kill -9 does."""
        self.moves.close()
        self.logs.abandon()

    def names(self) -> list[str]:
        """The partitions' directories, by log directory, without what is drawn by chance."""
        found = []
        for directory in (self.a, self.b, self.c):
            name = directory.rpartition("/")[2]
            for path in (self.home / name).glob("*-[0-9]*"):
                plain, _, mark = path.name.partition(".")
                found.append(f"{name}/{plain}" + (f" {mark.rpartition('-')[2]}" if mark else ""))
        return sorted(found)

    def check(self, partition: Partition) -> None:
        """Check the invariants of a partition and of its future log."""
        partition.check_invariants()
        partition.log.check_invariants()
        future = self.logs.futures.get(partition.topic, partition.index)
        if future is not None:
            future.check_invariants()


def append(partition: Partition, *values: bytes, timestamp: int = 1000, epoch: int | None = None) -> None:
    """Append a batch for each value: as the leader, or, where this broker follows, as one of this epoch."""
    for value in values:
        batch = memoryview(build_batch([Record(0, timestamp, None, value)]))
        if epoch is None:
            result = partition.append(batch, read_header(batch), 1, now_ms=5000)
            assert not getattr(result, "error", result)
        else:
            end = partition.log.log_end_offset
            record = Record(0, timestamp, None, value)
            sent = memoryview(build_batch([record], base_offset=end, leader_epoch=epoch))
            assert not partition.log.append_as_follower(sent, epoch, 5000).error


def all_records(partition: Partition) -> list[tuple[int, int, bytes]]:
    """Offset, leader epoch and value of each record, whatever the segment."""
    log, offset, found = partition.log, partition.log.log_start_offset, []
    while data := log.read(offset, 1 << 30, log.log_end_offset, min_one_batch=True):
        view = memoryview(data.read())
        for position, header in iter_headers(view):
            for at, record in enumerate(read_records(view[position : position + header.size], 1 << 20)):
                if header.base_offset + at >= offset:
                    found.append((header.base_offset + at, header.leader_epoch, record.value or b""))
        offset = found[-1][0] + 1
    return found


def values_of(partition: Partition) -> list[bytes]:
    """The values of its records."""
    return [value for _, _, value in all_records(partition)]


def begun(fixture: MovesFixture, partition: Partition) -> None:
    """Begin a move to b, which comes to a halt after the first batch."""
    assert fixture.moves.move(partition.topic, partition.index, fixture.b) == ErrorCode.NONE
    fixture.clock.advance(0)
    future = fixture.logs.futures.get(partition.topic, partition.index)
    assert future is not None
    assert future.log_end_offset == min(1, partition.log.log_end_offset)
