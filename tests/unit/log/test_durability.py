"""`flush.messages` and `flush.ms`: what waits for a sync, what shares it, and what a failed one does."""

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.context import LogContext
from kcompat.log.durability import NONE_WAITS
from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from support.default_settings import log_settings
from support.disk import Create, PowerCut
from support.faulty_files import FaultyFiles
from support.log_harness import LogHarness
from support.recorded_files import RecordingFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.log.files import OpenFile

END_OF_ITERATION, SYNCED = "end of the iteration", "synced"


class CountingFiles(Files):
    """Notes what is synced; fails with `fault`, if there is one, or only where a file is replaced."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.fault: OSError | None = None
        self.fault_of_replacing: OSError | None = None

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        if self.fault_of_replacing is not None:
            raise self.fault_of_replacing
        super().replace_file(path, data, sync=sync)

    def sync(self, file: OpenFile) -> None:
        if self.fault is not None:
            raise self.fault
        self.synced.append("file")

    def sync_directory(self, path: str) -> None:
        self.synced.append(path.rpartition("/")[2])


class ContextByHand(LogContext):
    """Does nothing by itself: `step` ends the iteration of the event loop, or the sync."""

    def __init__(self, path: str, files: Files) -> None:
        super().__init__(path, files)
        self.pending: deque[tuple[str, Callable[[], object]]] = deque()

    def soon(self, callback: Callable[[], object]) -> None:
        self.pending.append((END_OF_ITERATION, callback))

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        def end() -> None:
            work()
            then()

        self.pending.append((SYNCED, end))

    def step(self) -> str:
        name, callback = self.pending.popleft()
        callback()
        return name


class Held(LogHarness):
    """A log whose syncs end when the test says so; `released` counts how often the log has said so."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.counting = CountingFiles()
        self.by_hand = ContextByHand(str(directory), self.counting)
        super().__init__(directory, log_settings(**config), context=self.by_hand)
        self.released = 0
        self.log.durability.on_synced = self._released

    def _released(self) -> None:
        self.released += 1

    def step(self) -> str:
        return self.by_hand.step()


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path, flush_messages=1)


def test_by_default_nothing_waits(tmp_path: Path) -> None:
    held = Held(tmp_path)
    held.append(100)
    assert held.log.durability.unsynced_from == NONE_WAITS
    assert not held.by_hand.pending


def test_an_append_waits_until_it_is_on_the_device(held: Held) -> None:
    result = held.append(3)
    assert (result.error, held.log.log_end_offset, held.log.durability.unsynced_from) == (0, 3, 0)
    assert held.step() == END_OF_ITERATION
    assert ("file" in held.counting.synced, held.log.durability.unsynced_from) == (False, 0)
    assert held.step() == SYNCED
    assert (held.log.durability.unsynced_from, held.log.recovery_point, held.released) == (NONE_WAITS, 3, 1)
    assert not held.by_hand.pending


def test_appends_of_one_iteration_share_a_sync_and_those_during_it_the_next(held: Held) -> None:
    for _ in range(5):
        held.append()
    assert held.step() == END_OF_ITERATION
    for _ in range(7):
        held.append()
    assert [name for name, _ in held.by_hand.pending] == [SYNCED], "one at a time"
    held.step()
    assert (held.log.durability.unsynced_from, held.log.recovery_point) == (5, 5)
    held.append()
    assert held.step() == SYNCED, "the second began when the first ended"
    assert (held.log.durability.unsynced_from, held.log.recovery_point) == (12, 12)
    assert held.step() == SYNCED
    assert (held.log.durability.unsynced_from, held.log.recovery_point, held.released) == (NONE_WAITS, 13, 3)
    assert held.counting.synced.count("file") == 3


def test_only_the_append_that_reaches_the_number_waits(tmp_path: Path) -> None:
    held = Held(tmp_path, flush_messages=3)
    gates = []
    for _ in range(7):
        held.append()
        gates.append(held.log.durability.unsynced_from)
        while held.by_hand.pending:
            held.step()
    assert gates == [NONE_WAITS, NONE_WAITS, 2, NONE_WAITS, NONE_WAITS, 5, NONE_WAITS]
    assert held.counting.synced.count("file") == 2


def test_names_that_are_new_are_synced_once(tmp_path: Path) -> None:
    held = Held(tmp_path, flush_messages=1, segment_bytes=300)
    seen = []
    for _ in range(5):
        held.append(value=b"v" * 50)
        while held.by_hand.pending:
            held.step()
        seen.append(held.counting.synced[:])
        held.counting.synced.clear()
    own, parent = "t-0", tmp_path.name
    first, second, rolled, *_ = seen
    assert first[-2:] == [own, parent]
    assert second == ["file"]
    assert own in rolled, "the name of the new segment, before anything in it is acknowledged"


def test_a_roll_during_a_sync(tmp_path: Path) -> None:
    held = Held(tmp_path, flush_messages=1, segment_bytes=300)
    for _ in range(2):
        held.append(value=b"v" * 50)
    held.step()
    for _ in range(4):
        held.append(value=b"v" * 50)
    assert len(held.log.local.segments.base_offsets) == 3
    while held.by_hand.pending:
        held.step()
    assert (held.log.recovery_point, held.log.durability.unsynced_from) == (6, NONE_WAITS)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_sync_that_fails_lets_nothing_go_and_takes_the_directory_offline(held: Held, number: int) -> None:
    held.append()
    held.step()
    held.append()
    held.counting.fault = OSError(number, "no")
    held.step()
    assert held.log.is_failed
    assert (held.log.durability.unsynced_from, held.log.recovery_point, held.released) == (0, 0, 1)
    assert not held.by_hand.pending, "what could not be written then may seem to be written the next time"
    with pytest.raises(StorageError):
        held.append()


def test_epochs_that_cannot_be_written_are_a_failed_sync(held: Held) -> None:
    held.append()
    held.counting.fault_of_replacing = OSError(errno.ENOSPC, "full")
    held.step()
    assert (held.log.is_failed, held.log.durability.unsynced_from, held.released) == (True, 0, 1)


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_log_that_is_cut_waits_for_what_is_left(held: Held, cut: int) -> None:
    held.append()
    held.append()
    held.step()
    held.append()
    held.log.truncate_to(cut)
    while held.by_hand.pending:
        held.step()
    assert (held.log.durability.unsynced_from, held.log.recovery_point) == (NONE_WAITS, cut)
    held.append()
    assert held.log.durability.unsynced_from == cut


def test_a_log_that_is_closed_meanwhile(held: Held) -> None:
    held.append()
    held.log.discard()
    while held.by_hand.pending:
        held.step()
    assert held.released == 1


def test_flush_ms_syncs_aside_and_holds_nothing(tmp_path: Path) -> None:
    held = Held(tmp_path, flush_ms=100)
    held.append()
    held.log.durability.flush_if_due(held.log, 99)
    assert not held.by_hand.pending
    held.log.durability.flush_if_due(held.log, 100)
    assert held.log.durability.unsynced_from == NONE_WAITS
    assert [held.step(), held.step()] == [END_OF_ITERATION, SYNCED]
    assert held.log.recovery_point == 1
    held.log.durability.flush_if_due(held.log, 300)
    assert not held.by_hand.pending, "all is there"


def test_flush_now_while_appends_wait(held: Held) -> None:
    held.append()
    held.step()
    held.append()
    held.log.flush()
    assert held.log.recovery_point == 2
    while held.by_hand.pending:
        held.step()
    assert held.log.durability.unsynced_from == NONE_WAITS


def test_flush_messages_syncs_every_so_many_records(make_harness: Any) -> None:
    files = FaultyFiles()
    harness = make_harness(files, flush_messages=3)
    points = []
    for _ in range(7):
        harness.append()
        points.append(harness.log.recovery_point)
    assert points == [0, 0, 3, 3, 3, 6, 6]
    assert files.syncs == 2


def test_flush_ms_is_obeyed_by_the_scheduler(make_harness: Any) -> None:
    harness = make_harness(flush_ms=100)
    harness.append()
    harness.log.durability.flush_if_due(harness.log, 99)
    assert harness.log.recovery_point == 0
    harness.log.durability.flush_if_due(harness.log, 100)
    assert harness.log.recovery_point == 1


def test_the_indexes_of_a_rolled_segment_are_synced_with_it(make_harness: Any, tmp_path: Path) -> None:
    files = RecordingFiles(tmp_path)
    harness = make_harness(files, index_interval_bytes=0)
    for timestamp in (1000, 2000, 3000):
        harness.append(timestamp=timestamp)
    first = "t-0/00000000000000000000"
    assert unsynced(files, first) == {f"{first}.log"}
    harness.log.roll(0)
    assert {path.name for path in harness.directory.glob("*0.*index")} == {
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
    }
    assert unsynced(files, first) == set()


def unsynced(files: RecordingFiles, prefix: str) -> set[str]:
    """Return the files whose paths begin with `prefix` and whose bytes a power cut would lose now."""
    paths = {each.file: each.path for each in files.operations if isinstance(each, Create)}
    at_risk = (paths[file] for file in PowerCut(files.operations).unsynced)
    return {path for path in at_risk if path.startswith(prefix)}
