"""A crash at every change of the directory: what is left recovers to what had been promised."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from kcompat.log.files import FILES
from kcompat.log.loader import open_log
from support.default_settings import log_settings
from support.faulty_files import Crash, CrashingFiles
from support.log_harness import LogHarness

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONFIG = log_settings(segment_bytes=350, index_interval_bytes=0, retention_ms=10)


class Script:
    """The actions of a process until it crashes, and the promises that it has made so far."""

    def __init__(self, harness: LogHarness) -> None:
        self.harness = harness
        self.tried: list[tuple[int, int]] = []
        self.promised: list[tuple[int, int]] = []

    def append(self, count: int, **options: int) -> None:
        base = self.harness.log.log_end_offset
        self.tried.append((base, base + count - 1))
        self.harness.append(count, **options)
        self.promised.append(self.tried[-1])

    def fill(self, batches_per_epoch: int = 3) -> None:
        for number in range(8):
            epoch, sequence = number // batches_per_epoch, self.harness.log.log_end_offset
            options = {"producer_id": 3, "producer_epoch": 0, "base_sequence": sequence}
            self.append(1 + number % 3, epoch=epoch, timestamp=1000 + number, **options)

    def truncate(self) -> None:
        self.fill()
        self.truncate_to(6)

    def truncate_within_an_epoch(self) -> None:
        self.fill(batches_per_epoch=100)
        self.truncate_to(3)

    def truncate_to(self, offset: int) -> None:
        self.promised = [batch for batch in self.promised if batch[1] < offset]
        self.harness.log.truncate_to(offset)
        self.tried = list(self.promised)
        self.append(2, epoch=7)

    def retain(self) -> None:
        self.fill()
        end = self.harness.log.log_end_offset
        self.promised = []
        self.harness.log.delete_old_segments(10**6, end)
        self.tried = []
        self.append(1, epoch=7)

    def delete_records_and_close(self) -> None:
        self.fill()
        self.promised = [batch for batch in self.promised if batch[1] >= 5]
        self.harness.log.delete_records_before(5)
        self.harness.log.delete_old_segments(1000, 5)
        self.harness.log.close()

    def roll(self) -> None:
        self.append(1)
        for _ in range(3):
            self.harness.log.roll(0)
            self.append(1)
        self.harness.log.close()


SCRIPTS = [
    Script.fill,
    Script.truncate,
    Script.truncate_within_an_epoch,
    Script.retain,
    Script.delete_records_and_close,
    Script.roll,
]


@pytest.mark.parametrize("play", SCRIPTS)
def test_a_crash_recovers_to_what_was_promised(tmp_path: Path, play: Callable[[Script], None]) -> None:
    for steps in itertools.count():
        home = tmp_path / str(steps)
        home.mkdir()
        script = Script(LogHarness(home, CONFIG, CrashingFiles(10**9)))
        script.harness.context.files.steps = steps  # type: ignore[attr-defined]
        try:
            play(script)
            crashed = False
        except Crash:
            crashed = True
        script.harness.context.files = FILES
        log = script.harness.reopen()
        log.check_invariants()
        found = script.harness.offsets()
        assert set(script.promised) <= set(found)
        assert is_run(found, script.tried) or not script.promised
        assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(found)), found
        end = log.log_end_offset
        if log.producers and found:
            assert log.producers[0].last_sequence < end
        script.harness.append(1, epoch=9)
        assert script.harness.offsets()[-1] == (end, end)
        again = open_log(script.harness.directory, "t", 0, CONFIG, now_ms=0)
        assert again.log_end_offset == end + 1
        if not crashed:
            assert steps > 10
            return


def is_run(found: list[tuple[int, int]], tried: list[tuple[int, int]]) -> bool:
    """Whether `found` stands in `tried` without a hole."""
    if not found:
        return True
    if found[0] not in tried:
        return False
    start = tried.index(found[0])
    return tried[start : start + len(found)] == found
