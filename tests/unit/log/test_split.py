"""Segments that a cleaner of old let reach further than their indexes can say (KAFKA-6264)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from kcompat.log.context import LogContext
from kcompat.log.files import FILES, Files
from kcompat.log.loader import open_log
from kcompat.log.split import split_segment
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.faulty_files import Crash, CrashingFiles
from support.log_harness import make_batch

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.files import OpenFile
    from kcompat.log.log import Log

FAR = 2**31
OFFSETS = [0, 5, FAR - 1, FAR, FAR + 7, 2 * FAR + 5, 2 * FAR + 6]
END = 2 * FAR + 9
pytestmark = pytest.mark.leaves_gaps("compacted")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log of two segments, the first of which holds all of `OFFSETS`."""
    directory = tmp_path / "t-0"
    directory.mkdir()
    batches = [bytes(make_batch(1, base_offset=offset, leader_epoch=0)) for offset in OFFSETS]
    segment(directory, 0).write_bytes(b"".join(batches))
    segment(directory, END).write_bytes(make_batch(1, base_offset=END, leader_epoch=0))
    return directory


def segment(directory: Path, offset: int) -> Path:
    return directory / f"{offset:020d}.log"


def opened(directory: Path, files: Files = FILES, *, clean: bool = False) -> Log:
    context = LogContext(str(directory), files)
    return open_log(directory, "t", 0, log_settings(), now_ms=0, clean=clean, context=context)


def offsets_in(log: Log) -> list[int]:
    found = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 1 << 20, log.log_end_offset)
        assert read is not None
        data = memoryview(read.read())
        while data:
            header = read_header(data)
            found.append(header.base_offset)
            offset = header.next_offset
            data = data[header.size :]
    return found


@pytest.mark.parametrize("clean", [False, True], ids=["killed", "without indexes"])
def test_it_becomes_segments_that_can_be_indexed(
    directory: Path, clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = opened(directory, clean=clean)
    assert list(log.local.segments.base_offsets) == [0, FAR, 2 * FAR + 5, END]
    assert offsets_in(log) == [*OFFSETS, END]
    log.check_invariants()
    assert "reaches too far" in caplog.text
    log.close()
    again = opened(directory, clean=True)
    assert offsets_in(again) == [*OFFSETS, END]
    assert not [path.name for path in directory.iterdir() if path.name.endswith((".cleaned", ".swap"))]


def test_a_kill_at_every_change(directory: Path) -> None:
    steps = 0
    while True:
        files = CrashingFiles(steps)
        try:
            opened(directory, files)
        except Crash:
            steps += 1
            assert offsets_in(opened(copy_of(directory, steps))) == [*OFFSETS, END]
            restore(directory)
        else:
            break
    assert steps > 12


def copy_of(directory: Path, number: int) -> Path:
    copy = directory.with_name(f"c{number}-0")
    copy.mkdir()
    for path in directory.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def restore(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()
    batches = [bytes(make_batch(1, base_offset=offset, leader_epoch=0)) for offset in OFFSETS]
    segment(directory, 0).write_bytes(b"".join(batches))
    segment(directory, END).write_bytes(make_batch(1, base_offset=END, leader_epoch=0))


def test_no_file_takes_another_name_before_it_is_on_the_device(directory: Path) -> None:
    done = []

    class Watched(Files):
        def sync(self, file: OpenFile) -> None:
            done.append("sync")
            super().sync(file)

        def rename(self, source: str, target: str) -> None:
            done.append(target.rpartition(".")[2])
            super().rename(source, target)

    split_segment(Watched(), str(directory), 0, 89 * 3)
    assert done == ["sync", "sync", "swap", "swap"]


def test_a_last_segment_that_jumps_is_cut(directory: Path) -> None:
    """Nobody compacts the last segment: there a bit of the offset has flipped."""
    segment(directory, END).unlink()
    log = opened(directory)
    assert offsets_in(log) == [0, 5, FAR - 1]
