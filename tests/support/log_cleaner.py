"""A cleaner over a log manager, with a disk that can be full and time that moves by hand."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from kcompat.log.append import WITHOUT_PROOF
from kcompat.log.cleaner.cleaner import LogCleaner
from kcompat.log.cleaner.job import Interrupted
from kcompat.log.cleaner.runners import StepRunner
from kcompat.log.files import Files
from kcompat.records.batch import build_batch, read_header, read_records
from kcompat.records.record import Record
from support.default_settings import cleaner_settings, log_settings
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.config import LogConfig
    from kcompat.log.files import Readable
    from kcompat.log.log import Log

COMPACT = log_settings(cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0)
BACKOFF_MS = 15_000


class FullDisk(Files):
    """Takes no byte more when it is full, and no `.swap` its own name when there is no space for names."""

    full = False
    full_of_names = False

    def write(self, fd: int, data: Readable, position: int) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on device")
        return super().write(fd, data, position)

    def rename(self, source: str, target: str) -> None:
        if self.full_of_names and source.endswith(".swap"):
            raise OSError(errno.ENOSPC, "no space for a name")
        super().rename(source, target)


class CleanerFixture:
    """A manager, a cleaner, and time that moves by hand. Each runner does one step a poll."""

    def __init__(self, *paths: Path) -> None:
        self.path, self.paths = paths[0], paths
        self.files = FullDisk()
        self.clock = VirtualClock()
        self.config = cleaner_settings()
        self.stable: dict[str, int] = {}
        self.jobs: list[CleanJob] = []
        self.kills = 0
        self.lacks_descriptors = False
        self.open()

    def open(self) -> None:
        self.manager = log_manager(self.paths, self.clock, self.files)
        self.manager.open(1, "cluster", COMPACT)
        self.cleaner = LogCleaner(
            self.manager, self.clock, lambda: self.config, self.stable_offset, self.start_runner
        )

    def start_runner(self, job: CleanJob) -> StepRunner:
        self.jobs.append(job)
        if self.kills:
            self.kills -= 1
            return KilledRunner(job, self.files)
        return SlowRunner(job, self.files)

    def stable_offset(self, log: Log) -> int | None:
        if self.lacks_descriptors:
            raise OSError(errno.EMFILE, "too many open files")
        return self.stable.get(log.topic, log.log_end_offset)

    def log(self, topic: str, config: LogConfig = COMPACT) -> Log:
        return self.manager.create(topic, 0, bytes(16), config)

    def run(self, ms: int = BACKOFF_MS) -> None:
        self.clock.advance(ms)

    def cleaned(self) -> list[str]:
        return [job.directory.rpartition("/")[2] for job in self.jobs]


class SlowRunner(StepRunner):
    """One report a poll, so that a test can come in between."""

    def poll(self) -> list[Report]:
        for step in self._steps:
            if not isinstance(step, float):
                return [step]
        return []


class KilledRunner(StepRunner):
    """Somebody killed it."""

    def poll(self) -> list[Report]:
        return [Interrupted("the cleaning process ended with -9")]


def put(log: Log, *pairs: tuple[str, str], now_ms: int = 1000) -> None:
    """Append one batch of these keys and values."""
    records = [Record(0, now_ms, key.encode(), value.encode()) for key, value in pairs]
    batch = memoryview(build_batch(records))
    assert not log.append_as_leader(batch, read_header(batch), 0, now_ms, WITHOUT_PROOF).error


def fill(log: Log, segments: int = 2, value: str = "v" * 50) -> None:
    """Segments in which every record replaces the one before."""
    for _ in range(segments):
        put(log, ("k", value), ("k", value))
        log.roll(0)


def offsets(log: Log) -> list[int]:
    """The offsets of all records that are there."""
    found: list[int] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, log.log_end_offset)
        if data is None:
            break
        view = memoryview(data.read())
        while len(view):
            header = read_header(view)
            found += [record.offset for record in read_records(view[: header.size])]
            offset = header.next_offset
            view = view[header.size :]
    return found


def leftovers(fixture: CleanerFixture) -> list[str]:
    """Files of a cleaning that has not ended."""
    return [path.name for path in fixture.path.rglob("*") if path.suffix in (".cleaned", ".swap")]
