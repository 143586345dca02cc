"""The cleaner over a log manager: what it picks, when, how fast, and what it stores."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kcompat.log.cleaner.run import run
from support.default_settings import cleaner_settings, log_settings
from support.log_cleaner import BACKOFF_MS, COMPACT, CleanerFixture, fill, offsets, put


def test_it_cleans_and_remembers(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    fixture.cleaner.start()
    fixture.run(1000)
    assert offsets(log) == [3]
    assert log.local.segments.base_offsets == [0, 4]
    log.check_invariants()
    fixture.manager.close()
    assert (fixture.path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 4\n"

    fixture.open()
    loaded = fixture.manager.get("t", 0)
    assert loaded is not None
    assert fixture.manager.clean_offset(loaded) == 4
    fixture.cleaner.start()
    fixture.run()
    assert len(fixture.jobs) == 1, "there is nothing dirty"
    put(loaded, ("k", "x" * 500))
    loaded.roll(0)
    fixture.run()
    assert [job.first_dirty_offset for job in fixture.jobs] == [0, 4]


def test_the_dirtiest_log_comes_first(fixture: CleanerFixture) -> None:
    logs = [fixture.log(name) for name in ("a", "b", "c")]
    for log, dirty in zip(logs, (50, 600, 300), strict=True):
        put(log, ("clean", "v" * 300))
        log.roll(0)
        fixture.manager.set_clean_offset(log, 1)
        put(log, ("dirty", "v" * dirty))
        log.roll(0)
    fixture.cleaner.start()
    fixture.run(1000)
    assert fixture.cleaned() == ["b-0"], "the ratios of the others are at most a half"
    for log in logs:
        log.update_config(msgspec.structs.replace(COMPACT, min_cleanable_dirty_ratio=0.1))
    fixture.run()
    assert fixture.cleaned() == ["b-0", "c-0", "a-0"]


def test_what_is_not_cleaned(fixture: CleanerFixture) -> None:
    fill(fixture.log("delete", log_settings()))
    fill(fixture.log("young", msgspec.structs.replace(COMPACT, min_compaction_lag_ms=10**15)))
    fill(fixture.log("held"))
    fill(fixture.log("elsewhere"))
    fixture.stable = {"held": 0}
    fixture.cleaner._stable_offset = lambda log: (
        None if log.topic == "elsewhere" else fixture.stable_offset(log)
    )
    fixture.cleaner.start()
    fixture.run(10 * BACKOFF_MS)
    assert fixture.jobs == []


def test_a_log_that_moves_is_cleaned_where_it_goes_to(two_directories: CleanerFixture) -> None:
    """A cleaning that is under way is given up; up to where it was clean before is known there."""
    fixture = two_directories
    log = fixture.log("t")
    fill(log)
    fixture.cleaner.start()
    fixture.run()
    assert fixture.cleaned() == ["t-0"]
    clean = fixture.manager.clean_offset(log)
    assert clean
    fill(log)
    while len(fixture.jobs) == 1:
        fixture.run(20)
    copy = fixture.manager.futures.create(log, fixture.manager.directories[1])
    fixture.run(20 * BACKOFF_MS)
    assert (fixture.manager.clean_offset(log), len(fixture.jobs)) == (clean, 2)
    data = log.read(0, 1 << 30, log.log_end_offset, min_one_batch=True)
    while data is not None:
        assert not copy.append_as_follower(memoryview(data.read()), 9, 0).error
        data = log.read(copy.log_end_offset, 1 << 30, log.log_end_offset, min_one_batch=True)
    moved = fixture.manager.replace_with_future("t", 0)
    assert fixture.manager.clean_offset(moved) == clean
    fill(moved)
    fixture.run(20 * BACKOFF_MS)
    assert [job.directory for job in fixture.jobs[2:]] == [str(fixture.paths[1] / "t-0")]


def test_it_can_be_switched_off(fixture: CleanerFixture) -> None:
    fill(fixture.log("t"))
    fixture.config = cleaner_settings(enabled=False)
    fixture.cleaner.start()
    fixture.run(10 * BACKOFF_MS)
    fixture.config = cleaner_settings(threads=0)
    fixture.run(10 * BACKOFF_MS)
    assert fixture.jobs == []


def test_a_shorter_backoff_is_obeyed_within_a_second(fixture: CleanerFixture) -> None:
    fixture.config = cleaner_settings(backoff_ms=10**6)
    fixture.cleaner.start()
    fill(fixture.log("a"))
    fixture.run(5000)
    assert fixture.cleaned() == []
    fixture.config = cleaner_settings(backoff_ms=20)
    fixture.run(1000)
    assert fixture.cleaned() == ["a-0"]


def test_threads_work_side_by_side(fixture: CleanerFixture) -> None:
    for name in ("a", "b", "c"):
        fill(fixture.log(name))
    fixture.config = cleaner_settings(threads=2, dedupe_buffer_bytes=1000, bytes_per_second=10.0)
    fixture.cleaner.start()
    assert len(fixture.jobs) == 2
    assert {(job.map_bytes, job.bytes_per_second) for job in fixture.jobs} == {(500, 5.0)}
    fixture.run(1000)
    assert sorted(fixture.cleaned()) == ["a-0", "b-0", "c-0"]


def test_the_throttle_is_obeyed(fixture: CleanerFixture) -> None:
    log: Any = fixture.log("t")
    fill(log, 40, "v" * 20_000)
    job_size = log.size
    waits = []
    fixture.config = cleaner_settings(bytes_per_second=1e6)
    fixture.cleaner.start()
    now = [0.0]
    for step in run(fixture.jobs[0], fixture.files, lambda: now[0]):
        if isinstance(step, float):
            waits.append(step)
            now[0] += step
    assert sum(waits) == pytest.approx(2 * job_size / 1e6, rel=0.25)
