"""A cleaning in a process of its own: its reports, its end, and the end of who started it."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from kcompat.log.cleaner.cleaner import make_job
from kcompat.log.cleaner.job import LAST_WORDS, CleanJob, Failed, Finished, GroupCleaned, Interrupted, Report
from kcompat.log.cleaner.runners import ProcessRunner, Runner, StepRunner
from kcompat.log.cleaner.selection import assess
from kcompat.log.files import FILES
from support.compaction import CompactionHarness
from support.default_settings import cleaner_settings, log_settings
from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path) -> CompactionHarness:
    log = CompactionHarness(tmp_path, log_settings(cleanup_policy=frozenset({"compact"})))
    for _ in range(20):
        log.put((b"k", os.urandom(20_000)), producer=(5, 0, log.log.log_end_offset))
    log.roll()
    return log


def job_for(log: CompactionHarness, **config: float) -> CleanJob:
    cleanable = assess(list(log.log.local.segments), log.log.config, 0, log.log.log_end_offset, 0)
    return make_job(log.log, cleanable, cleaner_settings(**config), 0)


def wait(runner: Runner) -> list[Report]:
    reports: list[Report] = []
    patience = Patience(60)
    while not (reports and isinstance(reports[-1], LAST_WORDS)):
        assert patience.lasts
        reports += runner.poll()
        time.sleep(0.005)
    return reports


STARTERS: list[Callable[[CleanJob], Runner]] = [ProcessRunner, lambda job: StepRunner(job, FILES)]


@pytest.mark.parametrize("start", STARTERS)
def test_both_do_the_same(log: CompactionHarness, start: Callable[[CleanJob], Runner]) -> None:
    runner = start(job_for(log))
    reports = wait(runner)
    runner.stop()
    size = (log.directory / f"{0:020d}.log.cleaned").stat().st_size
    assert reports[0] == GroupCleaned((0,), size)
    finished = reports[-1]
    assert isinstance(finished, Finished)
    assert (finished.end_offset, finished.tally.records_kept, finished.tally.keys) == (20, 1, 1)


@pytest.mark.leaves_damage("the log file is taken away")
@pytest.mark.parametrize("start", STARTERS)
def test_faults_are_reported(log: CompactionHarness, start: Callable[[CleanJob], Runner]) -> None:
    job = job_for(log)
    (log.directory / f"{0:020d}.log").unlink()
    runner = start(job)
    (fault,) = wait(runner)
    runner.stop()
    assert isinstance(fault, Failed)
    assert fault.errno == 2


def test_a_process_that_dies_is_noticed(log: CompactionHarness) -> None:
    runner = ProcessRunner(job_for(log, bytes_per_second=1.0))
    runner._process.kill()
    assert wait(runner) == [Interrupted("the cleaning process ended with -9")]
    runner.stop()


def test_it_stops_when_it_is_told_to(log: CompactionHarness) -> None:
    runner = ProcessRunner(job_for(log, bytes_per_second=1.0))
    assert runner.poll() == []
    runner.stop()
    assert runner._process.wait(10) == -9


def test_it_ends_with_the_broker(log: CompactionHarness) -> None:
    """However the broker ends, its end of the pipe is closed."""
    runner = ProcessRunner(job_for(log, bytes_per_second=1.0))
    os.close(runner._lifeline)
    assert runner._process.wait(30) == 1
    runner._lifeline = os.open("/dev/null", os.O_RDONLY)
    runner.stop()


def test_a_job_is_plain_json(log: CompactionHarness) -> None:
    import msgspec

    job = job_for(log)
    data = msgspec.json.encode(job)
    assert json.loads(data)["rules"]["producers"] == {"5": [19, 0]}
    assert msgspec.json.decode(data, type=CleanJob) == job
