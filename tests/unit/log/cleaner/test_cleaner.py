"""The cleaner over a log manager: what it picks, when, how fast, and what it stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kcompat.log.cleaner.run import run
from kcompat.log.config import CleanerConfig, LogConfig
from support.cleaner_world import BACKOFF_MS, COMPACT, CleanerWorld, fill, offsets, put

if TYPE_CHECKING:
    from pathlib import Path


def test_it_cleans_and_remembers(world: CleanerWorld) -> None:
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


def test_the_dirtiest_log_comes_first(world: CleanerWorld) -> None:
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


def test_what_is_not_cleaned(world: CleanerWorld) -> None:
    fill(world.log("delete", LogConfig()))
    fill(world.log("young", msgspec.structs.replace(COMPACT, min_compaction_lag_ms=10**15)))
    fill(world.log("held"))
    fill(world.log("elsewhere"))
    world.stable = {"held": 0}
    world.cleaner._stable_offset = lambda log: None if log.topic == "elsewhere" else world.stable_offset(log)
    world.cleaner.start()
    world.run(10 * BACKOFF_MS)
    assert world.jobs == []


def test_a_log_that_moves_is_cleaned_where_it_goes_to(tmp_path: Path) -> None:
    """A cleaning that is under way is given up; up to where it was clean before is known there."""
    world = CleanerWorld(tmp_path / "a", tmp_path / "b")
    log = world.log("t")
    fill(log)
    world.cleaner.start()
    world.run()
    assert world.cleaned() == ["t-0"]
    clean = world.manager.clean_offset(log)
    assert clean
    fill(log)
    while len(world.jobs) == 1:
        world.run(20)
    copy = world.manager.futures.create(log, world.manager.directories[1])
    world.run(20 * BACKOFF_MS)
    assert (world.manager.clean_offset(log), len(world.jobs)) == (clean, 2)
    data = log.read(0, 1 << 30, log.log_end_offset, min_one_batch=True)
    while data is not None:
        assert not copy.append_as_follower(memoryview(data.read()), 9, 0).error
        data = log.read(copy.log_end_offset, 1 << 30, log.log_end_offset, min_one_batch=True)
    moved = world.manager.replace_with_future("t", 0)
    assert world.manager.clean_offset(moved) == clean
    fill(moved)
    world.run(20 * BACKOFF_MS)
    assert [job.directory for job in world.jobs[2:]] == [str(tmp_path / "b" / "t-0")]


def test_it_can_be_switched_off(world: CleanerWorld) -> None:
    fill(world.log("t"))
    world.config = CleanerConfig(enabled=False)
    world.cleaner.start()
    world.run(10 * BACKOFF_MS)
    world.config = CleanerConfig(threads=0)
    world.run(10 * BACKOFF_MS)
    assert world.jobs == []


def test_a_shorter_backoff_is_obeyed_within_a_second(world: CleanerWorld) -> None:
    world.config = CleanerConfig(backoff_ms=10**6)
    world.cleaner.start()
    fill(world.log("a"))
    world.run(5000)
    assert world.cleaned() == []
    world.config = CleanerConfig(backoff_ms=20)
    world.run(1000)
    assert world.cleaned() == ["a-0"]


def test_threads_work_side_by_side(world: CleanerWorld) -> None:
    for name in ("a", "b", "c"):
        fill(world.log(name))
    world.config = CleanerConfig(threads=2, dedupe_buffer_bytes=1000, bytes_per_second=10.0)
    world.cleaner.start()
    assert len(world.jobs) == 2
    assert {(job.map_bytes, job.bytes_per_second) for job in world.jobs} == {(500, 5.0)}
    world.run(1000)
    assert sorted(world.cleaned()) == ["a-0", "b-0", "c-0"]


def test_the_throttle_is_obeyed(world: CleanerWorld) -> None:
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
