"""Damage, full disks, kills and bugs: what each costs of the cleaner's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.cleaner.job import CleanJob
from kcompat.log.cleaner.runners import StepRunner
from support.log_cleaner import BACKOFF_MS, CleanerFixture, fill, leftovers, offsets, put

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import Report
    from kcompat.log.log import Log


def test_a_cleaning_that_was_killed_is_tried_again(fixture: CleanerFixture) -> None:
    log = fixture.log("a")
    fill(log)
    fixture.kills = 1
    fixture.cleaner.start()
    fixture.run(1000)
    assert fixture.cleaned() == ["a-0"]
    assert offsets(log) == [0, 1, 2, 3]
    assert fixture.cleaner.uncleanable == {}
    fixture.run()
    assert offsets(log) == [3]


def test_a_log_that_cannot_be_looked_at_for_a_moment_is_cleaned_later(fixture: CleanerFixture) -> None:
    log = fixture.log("a")
    fill(log)
    fixture.lacks_descriptors = True
    fixture.cleaner.start()
    fixture.run(1000)
    assert (fixture.cleaner.uncleanable, log.is_failed) == ({}, False)
    fixture.lacks_descriptors = False
    fixture.run(2 * BACKOFF_MS)
    assert offsets(log) == [3]


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
def test_a_damaged_log_does_not_stop_the_others(
    fixture: CleanerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = fixture.log("bad"), fixture.log("good")
    fill(bad, value="v" * 500)
    fill(good)
    path = fixture.path / "bad-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    fixture.cleaner.start()
    fixture.run(5 * BACKOFF_MS)
    assert fixture.cleaned() == ["bad-0", "good-0"], "the damaged one is not tried again"
    assert "is damaged at byte 0" in fixture.cleaner.uncleanable[bad.directory, bad.topic_id]
    assert "bad-0 cannot be cleaned" in caplog.text
    assert offsets(good) == [3]
    assert not bad.is_failed
    put(bad, ("k", "v"))


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
def test_a_topic_that_is_made_again_is_cleaned_whatever_was_wrong_with_the_other(
    fixture: CleanerFixture,
) -> None:
    log = fixture.log("t")
    fill(log)
    path = fixture.path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    fixture.cleaner.start()
    fixture.run(5 * BACKOFF_MS)
    assert list(fixture.cleaner.uncleanable) == [(log.directory, log.topic_id)]
    fixture.manager.delete("t", 0)
    again = fixture.manager.create("t", 0, b"again".ljust(16), log.config)
    fill(again)
    fixture.run(5 * BACKOFF_MS)
    assert offsets(again) == [3]


def test_a_full_disk_passes(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    fixture.files.full = True
    fixture.cleaner.start()
    fixture.run(BACKOFF_MS // 2)
    assert len(fixture.jobs) == 1, "it waits before it tries again"
    assert not log.is_failed
    assert leftovers(fixture) == []
    fixture.files.full = False
    fixture.run()
    assert offsets(log) == [3]


def test_a_swap_that_fails_takes_the_directory_offline(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    fixture.files.full_of_names = True
    fixture.cleaner.start()
    fixture.run(1000)
    assert log.is_failed
    fixture.files.full_of_names = False
    fixture.manager.close()
    fixture.open()
    loaded = fixture.manager.get("t", 0)
    assert loaded is not None
    assert offsets(loaded) == [3], "the start finishes it"


def test_a_bug_met_in_one_log_keeps_no_other_from_being_cleaned(fixture: CleanerFixture) -> None:
    bad, good = fixture.log("bad"), fixture.log("good")
    for log in (bad, good):
        fill(log)
    stable_offset = fixture.stable_offset

    def broken_at_bad(log: Log) -> int | None:
        if log is bad:
            raise ZeroDivisionError("a bug")
        return stable_offset(log)

    fixture.cleaner._stable_offset = broken_at_bad
    fixture.cleaner.start()
    fixture.run()
    assert fixture.cleaned() == ["good-0"]
    assert "a bug" in fixture.cleaner.uncleanable[bad.directory, bad.topic_id]


def test_a_bug_in_a_cleaning_ends_that_one_alone(fixture: CleanerFixture) -> None:
    class BrokenRunner(StepRunner):
        def poll(self) -> list[Report]:
            raise ZeroDivisionError("a bug")

    bad, good = fixture.log("bad"), fixture.log("good")
    for log in (bad, good):
        fill(log)
    start_runner = fixture.start_runner

    def start_broken_at_bad(job: CleanJob) -> StepRunner:
        return BrokenRunner(job, fixture.files) if job.directory == bad.directory else start_runner(job)

    fixture.cleaner._start_runner = start_broken_at_bad
    fixture.cleaner.start()
    fixture.run()
    assert list(fixture.cleaner.uncleanable) == [(bad.directory, bad.topic_id)]
    assert offsets(good) == [3]


def test_a_fault_in_the_choice_of_a_log_is_not_the_last_round(fixture: CleanerFixture) -> None:
    fill(fixture.log("good"))
    start_runner, met = fixture.start_runner, list[CleanJob]()

    def broken_once(job: CleanJob) -> StepRunner:
        if not met:
            met.append(job)
            raise ZeroDivisionError("a bug")
        return start_runner(job)

    fixture.cleaner._start_runner = broken_once
    fixture.cleaner.start()
    assert met
    fixture.run()
    assert fixture.cleaned() == ["good-0"]
