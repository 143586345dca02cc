"""Random workloads, compacted now and then and killed meanwhile, against a list of records; and a kill at
every change of one cleaning.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kcompat.log.cleaner.job import Finished
from kcompat.log.cleaner.runners import ProcessRunner
from kcompat.log.context import LogContext
from kcompat.log.files import Files
from kcompat.log.loader import open_log
from kcompat.records.batch import iter_headers, read_records
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, read_marker
from support.compaction import CompactionHarness
from support.default_settings import cleaner_settings, log_settings
from support.faulty_files import Crash, CrashingFiles
from support.fuzzing import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.files import OpenFile

SHARED_MEMORY = "/dev/shm"
DELETE_RETENTION_MS = 1000
SEEDS, WORKLOADS = 20, examples(25)
KILLS = WORKLOADS - 5
"""20 times 25 workloads, and at least 20 kills among these 25: 500 and 400 in all; fewer in `make test`."""
NEVER = 10**9


class UnsyncedFiles(Files):
    """A kill loses nothing of what was not synced, so these tests need not wait for the device."""

    def sync(self, file: OpenFile) -> None:
        pass

    def sync_directory(self, path: str) -> None:
        pass

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        super().write_file(path, data)


class UnsyncedCrashingFiles(UnsyncedFiles, CrashingFiles):
    pass


class Written(NamedTuple):
    offset: int
    timestamp: int
    key: bytes
    value: bytes | None


class Workload:
    """Writes at random, and knows what a reader of committed data must find."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = choice = random.Random(seed)
        self.config = log_settings(
            segment_bytes=choice.choice([600, 1200, 3000]),
            index_interval_bytes=choice.choice([0, 200, 4096]),
            delete_retention_ms=DELETE_RETENTION_MS,
            cleanup_policy=frozenset({"compact"}),
            timestamp_type=choice.choice(["CreateTime", "CreateTime", "LogAppendTime"]),
        )
        self.cleaner = cleaner_settings(
            dedupe_buffer_bytes=choice.choice([24 * 5, 24 * 30, 1 << 16]), load_factor=0.9
        )
        directory.mkdir()
        self.files = UnsyncedCrashingFiles(NEVER)
        self.harness = CompactionHarness(directory, self.config, self.files)
        self.now_ms = 10_000
        self.committed: list[Written] = []
        self.open: dict[int, list[Written]] = {}
        self.sequences: dict[int, int] = {}
        self.horizons: dict[int, int] = {}
        self.clean_offset = 0
        self.kills = 0

    def step(self) -> None:
        self.now_ms += self.random.choice([1, 5, 400])
        dice = self.random.random()
        if dice < 0.72:
            self.write()
        elif dice < 0.86 and self.open:
            self.end_transaction(self.random.choice(list(self.open)))
        elif dice < 0.93:
            self.harness.roll(self.now_ms)
        elif dice < 0.97:
            self.clean()
        else:
            self.clean_and_die()

    def write(self) -> None:
        count = self.random.choice([1, 1, 2, 5])
        pairs = []
        for _ in range(count):
            value = (
                None if self.random.random() < 0.25 else self.random.randbytes(self.random.choice([0, 8, 60]))
            )
            pairs.append((b"k%d" % self.random.randrange(12), value))
        codec = self.random.choice([Codec.NONE, Codec.NONE, *Codec])
        producer_id = self.random.choice([-1, 1, 2, 3, 4])
        producer, transactional = (-1, -1, -1), False
        if producer_id > 0:
            producer = (producer_id, 0, self.sequences.get(producer_id, 0))
            transactional = producer_id >= 3
        result = self.harness.put(
            *pairs, timestamp=self.now_ms, codec=codec, producer=producer, transactional=transactional
        )
        assert not result.error
        if producer_id > 0:
            self.sequences[producer_id] = producer[2] + count
        stamped = self.config.stamps_append_time
        written = [
            Written(result.base_offset + n, self.now_ms + (0 if stamped else n), key, value)
            for n, (key, value) in enumerate(pairs)
        ]
        if transactional:
            self.open.setdefault(producer_id, []).extend(written)
        else:
            self.committed += written

    def end_transaction(self, producer_id: int) -> None:
        commit = self.random.random() < 0.5
        self.harness.end_transaction(producer_id, 0, commit=commit, timestamp=self.now_ms)
        data = self.open.pop(producer_id)
        if commit:
            self.committed = sorted(self.committed + data)

    def clean(self) -> None:
        end_offset, reports = self.harness.clean(self.clean_offset, self.now_ms, self.cleaner)
        assert end_offset is not None, reports
        assert end_offset >= self.clean_offset
        if reports:
            self.cleaned_up_to(end_offset)

    def cleaned_up_to(self, end_offset: int) -> None:
        """Compact the list as the log was compacted; tombstones in it get their horizons."""
        bases = self.harness.log.local.segments.base_offsets
        touched = min((base for base in bases if base >= end_offset), default=end_offset)
        self.committed = self.compacted_up_to(end_offset)
        self.clean_offset = end_offset
        for written in self.committed:
            if written.offset < touched and end_offset > 0 and written.value is None:
                self.horizons.setdefault(written.offset, self.now_ms + DELETE_RETENTION_MS)

    def compacted_up_to(self, end_offset: int) -> list[Written]:
        """Return the committed records that remain after compaction up to `end_offset`."""
        newest = {written.key: written.offset for written in self.committed if written.offset < end_offset}
        return [
            written
            for written in self.committed
            if written.offset >= end_offset
            or (
                newest[written.key] == written.offset
                and (
                    written.value is not None
                    or self.horizons.get(written.offset, self.now_ms + 1) > self.now_ms
                )
            )
        ]

    # -- kills -----------------------------------------------------------------------------------------------

    def clean_and_die(self) -> None:
        """Clean, and die at one of the changes of the directory, unless it is done before."""
        job = self.harness.job(self.clean_offset, self.now_ms, self.cleaner)
        if job is None:
            return
        self.files.steps = self.random.randrange(10 + 12 * len(job.parts))
        try:
            self.clean()
        except Crash:
            self.come_back(job)
        self.files.steps = NEVER

    def kill_the_process(self) -> None:
        """Clean in a process of its own, and kill that after a while, or after it has ended."""
        job = self.harness.job(self.clean_offset, self.now_ms, self.cleaner)
        if job is None:
            return
        runner = ProcessRunner(job)
        end_s = time.monotonic() + self.random.choice([0.05, 0.15, 0.3])
        reports: list[Report] = []
        while time.monotonic() < end_s and not (reports and isinstance(reports[-1], Finished)):
            reports += runner.poll()
        runner._process.kill()
        runner._process.wait()
        reports += runner.poll()
        runner.stop()
        for report in reports:
            self.harness.obey(report)
        self.come_back(job)

    def come_back(self, job: CleanJob) -> None:
        """Start again, maybe not at the first attempt, and take over what is there: some of the segments as
        they were, some cleaned.
        """
        self.kills += 1
        end = self.harness.log.log_end_offset
        self.files.steps = self.random.choice([NEVER, NEVER, self.random.randrange(20)])
        with contextlib.suppress(Crash):
            self.harness.reopen()
        self.files.steps = NEVER
        self.harness.reopen()
        log = self.harness.log
        log.check_invariants()
        assert log.log_end_offset == end
        assert not [path for path in self.harness.directory.iterdir() if path.suffix in (".cleaned", ".swap")]
        self.take_over_horizons()
        stable = log.producer_state.last_stable_offset(log.log_start_offset, log.log_end_offset)
        before = [written for written in self.committed if written.offset < stable]
        at_least = {w for w in self.compacted_up_to(job.rules.upper_offset) if w.offset < stable}
        found = self.read_committed()
        assert at_least <= set(found) <= set(before)
        assert newest_values(found) == newest_values(before)
        self.committed = sorted(found + self.committed[len(before) :])

    def take_over_horizons(self) -> None:
        """Read the horizons of tombstones in segments that were cleaned before the kill."""
        for header, batch in self.harness.batches():
            if header.is_control or not header.has_delete_horizon:
                continue
            for record in read_records(memoryview(batch)):
                if record.value is None:
                    known = self.horizons.setdefault(record.offset, self.now_ms + DELETE_RETENTION_MS)
                    assert header.base_timestamp == known

    # -- what a consumer sees --------------------------------------------------------------------------------

    def read_committed(self) -> list[Written]:
        """The records that a consumer with isolation level read_committed keeps, fetch by fetch, each of them
        filtered as it does.
        """
        log = self.harness.log
        stable = log.producer_state.last_stable_offset(log.log_start_offset, log.log_end_offset)
        offset = log.log_start_offset
        found: list[Written] = []
        while data := log.read(offset, self.random.choice([1, 300, 1 << 20]), stable):
            aborted = log.aborted_transactions(offset, stable, data)
            offset = self.take_committed(memoryview(data.read()), aborted, found)
        return found

    @staticmethod
    def take_committed(fetched: memoryview, aborted: Sequence[tuple[int, int]], found: list[Written]) -> int:
        """Add to `found` what is committed of what was fetched; returns where to go on."""
        waiting = sorted(aborted, key=lambda pair: pair[1])
        passed_over: set[int] = set()
        for position, header in iter_headers(fetched):
            batch = fetched[position : position + header.size]
            while waiting and waiting[0][1] <= header.last_offset:
                passed_over.add(waiting.pop(0)[0])
            if header.is_control:
                marker = read_marker(batch)
                if marker is not None and marker.type == ControlType.ABORT:
                    passed_over.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in passed_over):
                found += [Written(*record[:4]) for record in map(_fields, read_records(batch))]
        return header.last_offset + 1

    def check(self) -> None:
        log = self.harness.log
        log.check_invariants()
        stable = log.producer_state.last_stable_offset(log.log_start_offset, log.log_end_offset)
        assert self.read_committed() == [written for written in self.committed if written.offset < stable]
        readable = {written.offset for written in self.committed}
        leftover = {record.offset for record in self.harness.records()} - readable
        assert not [offset for offset in leftover if offset < self.clean_offset], "aborted data is gone"
        known = {entry.producer_id: entry.last_sequence for entry in log.producers if entry.batches}
        assert known == {producer_id: following - 1 for producer_id, following in self.sequences.items()}


def _fields(record: object) -> tuple[int, int, bytes, bytes | None]:
    return record.offset, record.timestamp, record.key, record.value  # type: ignore[attr-defined]


def newest_values(records: list[Written]) -> dict[bytes, bytes]:
    state: dict[bytes, bytes] = {}
    for written in records:
        state.pop(written.key, None)
        if written.value is not None:
            state[written.key] = written.value
    return state


def rebuild(workload: Workload) -> None:
    """Drop the log as a kill would, and every producer snapshot: what is left must be enough."""
    for snapshot in workload.harness.directory.glob("*.snapshot"):
        snapshot.unlink()
    workload.harness.reopen()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """In memory, if that can be: thousands of small files are made and removed."""
    if not os.access(SHARED_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as path:
        yield Path(path)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_workloads_equal_the_model(seed: int, directory: Path) -> None:
    kills = 0
    for number in range(WORKLOADS):
        workload = Workload(1000 * seed + number, directory / str(number))
        for _ in range(workload.random.randrange(10, 60)):
            workload.step()
        workload.check()
        workload.harness.roll(workload.now_ms)
        workload.kill_the_process() if number == 0 else workload.clean_and_die()
        workload.check()
        workload.clean()
        workload.check()
        rebuild(workload)
        workload.check()
        workload.now_ms += 2 * DELETE_RETENTION_MS
        workload.clean_and_die()
        workload.check()
        workload.clean()
        workload.check()
        kills += workload.kills
    assert kills >= KILLS


@pytest.mark.parametrize("seed", range(8))
def test_a_kill_at_every_change(seed: int, directory: Path) -> None:
    """Whatever the moment: nothing that readers must see is lost, and the next cleaning gets to the end."""
    workload = Workload(seed, directory / "before")
    while len(workload.harness.log.local.segments.base_offsets) < 5:
        workload.write() if workload.random.random() < 0.8 else workload.clean()
        for producer_id in list(workload.open):
            workload.end_transaction(producer_id)
    workload.harness.roll(workload.now_ms)
    workload.harness.log.flush()
    before = newest_values(workload.read_committed())
    end, segments = workload.harness.log.log_end_offset, len(workload.harness.log.local.segments.base_offsets)
    assert segments > 1
    steps = 0
    while True:
        target = directory / f"crash-{steps}"
        shutil.copytree(workload.harness.directory.parent, target)
        if not _crash(workload, target, steps):
            break
        context = LogContext(str(target), UnsyncedFiles())
        log = open_log(target / "t-0", "t", 0, workload.config, now_ms=0, context=context)
        workload.harness.log, kept = log, workload.harness.log
        log.check_invariants()
        assert log.log_end_offset == end
        assert newest_values(workload.read_committed()) == before
        assert not [path for path in (target / "t-0").iterdir() if path.suffix in (".cleaned", ".swap")]
        done, _ = workload.harness.clean(0, workload.now_ms)
        assert done == end
        assert newest_values(workload.read_committed()) == before
        workload.harness.log = kept
        shutil.rmtree(target)
        steps += 1
    assert steps > 25


def _crash(workload: Workload, target: Path, steps: int) -> bool:
    """Clean a copy and crash at change number `steps`; False if it got to the end."""
    context = LogContext(str(target), UnsyncedCrashingFiles(10**9))
    log = open_log(target / "t-0", "t", 0, workload.config, now_ms=0, clean=True, context=context)
    context.files.steps = steps  # type: ignore[attr-defined]
    workload.harness.log, kept = log, workload.harness.log
    try:
        workload.harness.clean(
            workload.clean_offset, workload.now_ms, cleaner_settings(dedupe_buffer_bytes=1 << 16)
        )
    except Crash:
        return True
    finally:
        workload.harness.log = kept
    return False
