"""The cleaner over a log manager: what it picks and stores, and what happens when a log changes meanwhile."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kcompat.log.cleaner.cleaner import Compacted, LogCleaner
from kcompat.log.cleaner.job import Interrupted
from kcompat.log.cleaner.run import run
from kcompat.log.cleaner.runners import StepRunner
from kcompat.log.config import CleanerConfig, LogConfig
from kcompat.log.files import Files
from kcompat.records.batch import build_batch, read_header, read_records
from kcompat.records.record import Record
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.files import Readable
    from kcompat.log.log import Log

COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0)
BACKOFF_MS = 15_000
NOT_COMPACTED = "its cleanup.policy does not contain compact, or its log is offline"


class FullDisk(Files):
    """Takes no byte more when it is full, and no `.swap` its own name when there is no space for names."""

    full = False
    full_of_names = False

    def write(self, fd: int, data: Readable, position: int) -> int:
        """See `Files.write`."""
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on device")
        return super().write(fd, data, position)

    def rename(self, source: str, target: str) -> None:
        """See `Files.rename`."""
        if self.full_of_names and source.endswith(".swap"):
            raise OSError(errno.ENOSPC, "no space for a name")
        super().rename(source, target)


class World:
    """A manager, a cleaner, and time that moves by hand. Each runner does one step a poll."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = FullDisk()
        self.clock = VirtualClock()
        self.config = CleanerConfig()
        self.stable: dict[str, int] = {}
        self.jobs: list[CleanJob] = []
        self.kills = 0
        self.open()

    def open(self) -> None:
        self.manager = log_manager([self.path], self.clock, self.files)
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
        """See `Runner.poll`."""
        for step in self._steps:
            if not isinstance(step, float):
                return [step]
        return []


class KilledRunner(StepRunner):
    """Somebody killed it."""

    def poll(self) -> list[Report]:
        """See `Runner.poll`."""
        return [Interrupted("the cleaning process ended with -9")]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data")
    yield world
    world.cleaner.stop()
    world.manager.close()


def put(log: Log, *pairs: tuple[str, str], now_ms: int = 1000) -> None:
    records = [Record(0, now_ms, key.encode(), value.encode()) for key, value in pairs]
    batch = memoryview(build_batch(records))
    assert not log.append_as_leader(batch, read_header(batch), 0, now_ms).error


def fill(log: Log, segments: int = 2, value: str = "v" * 50) -> None:
    """Segments in which every record replaces the one before."""
    for _ in range(segments):
        put(log, ("k", value), ("k", value))
        log.roll(0)


def offsets(log: Log) -> list[int]:
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


def test_it_cleans_and_remembers(world: World) -> None:
    log = world.log("t")
    fill(log)
    world.cleaner.start()
    world.run(1000)
    assert offsets(log) == [3]
    assert log.local.segments.base_offsets == [0, 4]
    log.check_invariants()
    world.manager.close()
    assert (world.path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 4\n"

    world.open()
    loaded = world.manager.get("t", 0)
    assert loaded is not None
    assert world.manager.clean_offset(loaded) == 4
    world.cleaner.start()
    world.run()
    assert len(world.jobs) == 1, "there is nothing dirty"
    put(loaded, ("k", "x" * 500))
    loaded.roll(0)
    world.run()
    assert [job.first_dirty_offset for job in world.jobs] == [0, 4]


def test_the_dirtiest_log_comes_first(world: World) -> None:
    logs = [world.log(name) for name in ("a", "b", "c")]
    for log, dirty in zip(logs, (50, 600, 300), strict=True):
        put(log, ("clean", "v" * 300))
        log.roll(0)
        world.manager.set_clean_offset(log, 1)
        put(log, ("dirty", "v" * dirty))
        log.roll(0)
    world.cleaner.start()
    world.run(1000)
    assert world.cleaned() == ["b-0"], "the ratios of the others are at most a half"
    for log in logs:
        log.update_config(msgspec.structs.replace(COMPACT, min_cleanable_dirty_ratio=0.1))
    world.run()
    assert world.cleaned() == ["b-0", "c-0", "a-0"]


def test_what_is_not_cleaned(world: World) -> None:
    fill(world.log("delete", LogConfig()))
    fill(world.log("young", msgspec.structs.replace(COMPACT, min_compaction_lag_ms=10**15)))
    fill(world.log("held"))
    fill(world.log("elsewhere"))
    world.stable = {"held": 0}
    world.cleaner._stable_offset = lambda log: None if log.topic == "elsewhere" else world.stable_offset(log)
    world.cleaner.start()
    world.run(10 * BACKOFF_MS)
    assert world.jobs == []


def test_it_can_be_switched_off(world: World) -> None:
    fill(world.log("t"))
    world.config = CleanerConfig(enabled=False)
    world.cleaner.start()
    world.run(10 * BACKOFF_MS)
    world.config = CleanerConfig(threads=0)
    world.run(10 * BACKOFF_MS)
    assert world.jobs == []


def test_a_shorter_backoff_is_obeyed_within_a_second(world: World) -> None:
    world.config = CleanerConfig(backoff_ms=10**6)
    world.cleaner.start()
    fill(world.log("a"))
    world.run(5000)
    assert world.cleaned() == []
    world.config = CleanerConfig(backoff_ms=20)
    world.run(1000)
    assert world.cleaned() == ["a-0"]


def test_a_cleaning_that_was_killed_is_tried_again(world: World) -> None:
    log = world.log("a")
    fill(log)
    world.kills = 1
    world.cleaner.start()
    world.run(1000)
    assert world.cleaned() == ["a-0"]
    assert offsets(log) == [0, 1, 2, 3]
    assert world.cleaner.uncleanable == {}
    world.run()
    assert offsets(log) == [3]


def test_threads_work_side_by_side(world: World) -> None:
    for name in ("a", "b", "c"):
        fill(world.log(name))
    world.config = CleanerConfig(threads=2, dedupe_buffer_bytes=1000, bytes_per_second=10.0)
    world.cleaner.start()
    assert len(world.jobs) == 2
    assert {(job.map_bytes, job.bytes_per_second) for job in world.jobs} == {(500, 5.0)}
    world.run(1000)
    assert sorted(world.cleaned()) == ["a-0", "b-0", "c-0"]


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
def test_a_damaged_log_does_not_stop_the_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = world.log("bad"), world.log("good")
    fill(bad, value="v" * 500)
    fill(good)
    path = world.path / "bad-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    world.cleaner.start()
    world.run(5 * BACKOFF_MS)
    assert world.cleaned() == ["bad-0", "good-0"], "the damaged one is not tried again"
    assert "is damaged at byte 0" in world.cleaner.uncleanable[bad.directory]
    assert "bad-0 cannot be cleaned" in caplog.text
    assert offsets(good) == [3]
    assert not bad.is_failed
    put(bad, ("k", "v"))


def leftovers(world: World) -> list[str]:
    return [path.name for path in world.path.rglob("*") if path.suffix in (".cleaned", ".swap")]


def test_a_truncation_comes_first(world: World) -> None:
    log = world.log("t")
    fill(log, 3)
    world.cleaner.start()
    log.truncate_to(2)
    put(log, ("k", "v" * 50), ("k", "v" * 50))
    before = log.local.segments.base_offsets
    world.run(1000)
    assert (offsets(log), log.local.segments.base_offsets) == ([0, 1, 2, 3], before)
    assert leftovers(world) == []
    world.run()
    assert offsets(log)[0] > 0


def test_a_truncation_takes_the_clean_offset_back(world: World) -> None:
    log = world.log("t")
    fill(log, 3)
    world.cleaner.start()
    world.run(1000)
    assert world.manager.clean_offset(log) == 6
    log.truncate_to(5)
    assert world.manager.clean_offset(log) == 5
    assert (world.path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 5\n"


def test_retention_comes_first(world: World) -> None:
    config = msgspec.structs.replace(
        COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=10
    )
    log = world.log("t", config)
    fill(log, 3)
    world.cleaner.start()
    assert log.delete_old_segments(10**6, 4) == 2
    world.run(1000)
    assert not log.is_failed
    assert offsets(log) == [4, 5]
    world.run()
    assert offsets(log) == [5], "it is cleaned the next time"


def test_a_deleted_log_is_forgotten(world: World) -> None:
    log, other = world.log("t"), world.log("other")
    fill(log, 5, "v" * 500)
    fill(other)
    world.cleaner.start()
    world.manager.delete("t", 0)
    world.run(1000)
    assert world.cleaned() == ["t-0", "other-0"]
    assert offsets(other) == [3]
    fill(world.log("t"))
    world.run()
    assert world.cleaned() == ["t-0", "other-0", "t-0"]


def test_another_policy_ends_a_cleaning(world: World) -> None:
    log = world.log("t")
    fill(log)
    world.cleaner.start()
    log.update_config(LogConfig())
    world.run(1000)
    assert offsets(log) == [0, 1, 2, 3]
    assert leftovers(world) == []


def test_a_full_disk_passes(world: World) -> None:
    log = world.log("t")
    fill(log)
    world.files.full = True
    world.cleaner.start()
    world.run(BACKOFF_MS // 2)
    assert len(world.jobs) == 1, "it waits before it tries again"
    assert not log.is_failed
    assert leftovers(world) == []
    world.files.full = False
    world.run()
    assert offsets(log) == [3]


def test_a_swap_that_fails_takes_the_directory_offline(world: World) -> None:
    log = world.log("t")
    fill(log)
    world.files.full_of_names = True
    world.cleaner.start()
    world.run(1000)
    assert log.is_failed
    world.files.full_of_names = False
    world.manager.close()
    world.open()
    loaded = world.manager.get("t", 0)
    assert loaded is not None
    assert offsets(loaded) == [3], "the start finishes it"


def test_compact_now(world: World) -> None:
    log, plain = world.log("t"), world.log("plain", LogConfig())
    world.config = CleanerConfig(enabled=False, dedupe_buffer_bytes=24 * 3)
    for number in range(10):
        put(log, (f"k{number % 5}", "v"))
    put(plain, ("k", "v"))
    world.cleaner.start()
    before = log.size
    outcomes = world.cleaner.compact([log, plain])
    world.run(1000)
    assert [outcome.value for outcome in outcomes] == [
        Compacted("t", 0, before, log.size),
        Compacted(
            "plain",
            0,
            plain.size,
            plain.size,
            NOT_COMPACTED,
        ),
    ]
    assert offsets(log) == [5, 6, 7, 8, 9]
    assert len(world.jobs) > 1, "the map was too small for one round"
    assert plain.local.segments.base_offsets == [0]


def test_compact_now_says_what_is_wrong(world: World) -> None:
    log = world.log("t")
    fill(log)
    world.files.full = True
    (outcome,) = world.cleaner.compact([log])
    world.run(1000)
    assert "No space left" in str(outcome.value.problem)
    world.files.full = False
    (outcome,) = world.cleaner.compact([log])
    world.cleaner.stop()
    assert outcome.value.problem == "the broker stops"


def test_compact_now_ends_although_producers_go_on(world: World) -> None:
    log = world.log("t")
    fill(log)
    (outcome,) = world.cleaner.compact([log])
    for _ in range(200):
        fill(log, 1)
        world.run(20)
        if outcome.done:
            break
    assert outcome.value.problem is None


def test_the_throttle_is_obeyed(world: World) -> None:
    log: Any = world.log("t")
    fill(log, 40, "v" * 20_000)
    job_size = log.size
    waits = []
    world.config = CleanerConfig(bytes_per_second=1e6)
    world.cleaner.start()
    now = [0.0]
    for step in run(world.jobs[0], world.files, lambda: now[0]):
        if isinstance(step, float):
            waits.append(step)
            now[0] += step
    assert sum(waits) == pytest.approx(2 * job_size / 1e6, rel=0.25)


def test_a_bug_met_in_one_log_keeps_no_other_from_being_cleaned(world: World) -> None:
    bad, good = world.log("bad"), world.log("good")
    for log in (bad, good):
        fill(log)
    stable_offset = world.stable_offset

    def broken_at_bad(log: Log) -> int | None:
        if log is bad:
            raise ZeroDivisionError("a bug")
        return stable_offset(log)

    world.cleaner._stable_offset = broken_at_bad
    world.cleaner.start()
    world.run()
    assert world.cleaned() == ["good-0"]
    assert "a bug" in world.cleaner.uncleanable[bad.directory]


def test_a_bug_in_a_cleaning_ends_that_one_alone(world: World) -> None:
    class BrokenRunner(StepRunner):
        def poll(self) -> list[Report]:
            """See `Runner.poll`."""
            raise ZeroDivisionError("a bug")

    bad, good = world.log("bad"), world.log("good")
    for log in (bad, good):
        fill(log)
    start_runner = world.start_runner

    def start_broken_at_bad(job: CleanJob) -> StepRunner:
        return BrokenRunner(job, world.files) if job.directory == bad.directory else start_runner(job)

    world.cleaner._start_runner = start_broken_at_bad
    world.cleaner.start()
    world.run()
    assert list(world.cleaner.uncleanable) == [bad.directory]
    assert offsets(good) == [3]


def test_a_fault_in_the_choice_of_a_log_is_not_the_last_turn(world: World) -> None:
    fill(world.log("good"))
    start_runner, met = world.start_runner, []

    def broken_once(job: CleanJob) -> StepRunner:
        if not met:
            met.append(job)
            raise ZeroDivisionError("a bug")
        return start_runner(job)

    world.cleaner._start_runner = broken_once
    world.cleaner.start()
    assert met
    world.run()
    assert world.cleaned() == ["good-0"]
