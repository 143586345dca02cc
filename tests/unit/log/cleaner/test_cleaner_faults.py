"""Damage, full disks, kills and bugs: what each costs of the cleaner's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.cleaner.job import CleanJob
from kcompat.log.cleaner.runners import StepRunner
from support.cleaner_world import BACKOFF_MS, CleanerWorld, fill, leftovers, offsets, put

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import Report
    from kcompat.log.log import Log


def test_a_cleaning_that_was_killed_is_tried_again(world: CleanerWorld) -> None:
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


def test_a_log_that_cannot_be_looked_at_for_a_moment_is_cleaned_later(world: CleanerWorld) -> None:
    log = world.log("a")
    fill(log)
    world.lacks_descriptors = True
    world.cleaner.start()
    world.run(1000)
    assert (world.cleaner.uncleanable, log.is_failed) == ({}, False)
    world.lacks_descriptors = False
    world.run(2 * BACKOFF_MS)
    assert offsets(log) == [3]


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
def test_a_damaged_log_does_not_stop_the_others(
    world: CleanerWorld, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert "is damaged at byte 0" in world.cleaner.uncleanable[bad.directory, bad.topic_id]
    assert "bad-0 cannot be cleaned" in caplog.text
    assert offsets(good) == [3]
    assert not bad.is_failed
    put(bad, ("k", "v"))


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
def test_a_topic_that_is_made_again_is_cleaned_whatever_was_wrong_with_the_other(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log)
    path = world.path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    world.cleaner.start()
    world.run(5 * BACKOFF_MS)
    assert list(world.cleaner.uncleanable) == [(log.directory, log.topic_id)]
    world.manager.delete("t", 0)
    again = world.manager.create("t", 0, b"again".ljust(16), log.config)
    fill(again)
    world.run(5 * BACKOFF_MS)
    assert offsets(again) == [3]


def test_a_full_disk_passes(world: CleanerWorld) -> None:
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


def test_a_swap_that_fails_takes_the_directory_offline(world: CleanerWorld) -> None:
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


def test_a_bug_met_in_one_log_keeps_no_other_from_being_cleaned(world: CleanerWorld) -> None:
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
    assert "a bug" in world.cleaner.uncleanable[bad.directory, bad.topic_id]


def test_a_bug_in_a_cleaning_ends_that_one_alone(world: CleanerWorld) -> None:
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
    assert list(world.cleaner.uncleanable) == [(bad.directory, bad.topic_id)]
    assert offsets(good) == [3]


def test_a_fault_in_the_choice_of_a_log_is_not_the_last_turn(world: CleanerWorld) -> None:
    fill(world.log("good"))
    start_runner, met = world.start_runner, list[CleanJob]()

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
