"""Logs that are put back to what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.images import LogImage
from kcompat.log.rewinding import MarkedLog, rewind
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.log_harness import make_batch
from support.log_manager import log_manager, log_of
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

CONFIG = log_settings(segment_bytes=300)
KEY = ("t", 0)
ID = b"i" * 16


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[LogManager]:
    found = log_manager([tmp_path / "a", tmp_path / "b"], VirtualClock())
    found.open(1, "c", CONFIG)
    yield found
    found.abandon()


def append(log: Log, batches: int = 1) -> None:
    for _ in range(batches):
        batch = memoryview(make_batch())
        assert log.append_as_leader(batch, read_header(batch), 0, 1000).error == 0


def mark(
    manager: LogManager, place: Path, clean_offset: int | None = None
) -> dict[tuple[str, int], MarkedLog]:
    return {
        (log.topic, log.partition): MarkedLog(LogImage(log, str(place)), log.log_end_offset, clean_offset)
        for log in manager
    }


def delete_and_create(manager: LogManager) -> None:
    manager.delete(*KEY)
    manager.create(*KEY, b"j" * 16, CONFIG)


def cut_and_append(manager: LogManager) -> None:
    log_of(manager, *KEY).truncate_to(2)
    append(log_of(manager, *KEY), 3)


CHANGES: dict[str, Callable[[LogManager], object]] = {
    "nothing": lambda manager: None,
    "an append": lambda manager: append(log_of(manager, *KEY)),
    "many appends": lambda manager: append(log_of(manager, *KEY), 20),
    "a new start": lambda manager: log_of(manager, *KEY).delete_records_before(4),
    "a new segment": lambda manager: log_of(manager, *KEY).roll(0),
    "a truncation": lambda manager: log_of(manager, *KEY).truncate_to(2),
    "a truncation and appends": cut_and_append,
    "a deletion": lambda manager: manager.delete(*KEY),
    "another topic of this name": delete_and_create,
    "a fault": lambda manager: log_of(manager, *KEY).context.fault(OSError(5, "input/output error")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_is_as_it_was_whatever_has_happened(manager: LogManager, tmp_path: Path, change: str) -> None:
    manager.futures.prefer(*KEY, str(tmp_path / "b"))
    log = manager.create(*KEY, ID, CONFIG)
    append(log, 5)
    log.delete_records_before(1)
    marked = mark(manager, tmp_path / "image")
    for _ in range(2):
        CHANGES[change](manager)
        former = manager.get(*KEY)
        rewind(manager, marked, CONFIG, 0)
        found = log_of(manager, *KEY)
        assert found.context.path == str(tmp_path / "b")
        assert (found.topic_id, found.log_start_offset, found.log_end_offset) == (ID, 1, 5)
        assert [header.base_offset for header in found.local.headers(1)] == [1, 2, 3, 4]
        assert former is None or former.is_failed
        append(found)
        rewind(manager, marked, CONFIG, 0)


def test_a_log_that_has_not_changed_is_not_read_again(manager: LogManager, tmp_path: Path) -> None:
    append(manager.create(*KEY, ID, CONFIG))
    segments = log_of(manager, *KEY).local.segments
    rewind(manager, mark(manager, tmp_path / "image"), CONFIG, 0)
    assert log_of(manager, *KEY).local.segments is segments


def test_a_log_that_was_empty_is_made_anew_in_its_directory(manager: LogManager, tmp_path: Path) -> None:
    manager.futures.prefer(*KEY, str(tmp_path / "b"))
    manager.create(*KEY, ID, CONFIG)
    marked = mark(manager, tmp_path / "image")
    append(log_of(manager, *KEY))
    rewind(manager, marked, CONFIG, 0)
    log = log_of(manager, *KEY)
    assert (log.topic_id, log.log_end_offset, log.context.path) == (ID, 0, str(tmp_path / "b"))
    assert not (tmp_path / "image").exists()


def test_the_directory_knows_what_it_knew(manager: LogManager, tmp_path: Path) -> None:
    append(manager.create(*KEY, ID, CONFIG), 5)
    first = mark(manager, tmp_path / "first")
    manager.set_clean_offset(log_of(manager, *KEY), 3)
    second = mark(manager, tmp_path / "second", clean_offset=3)
    append(log_of(manager, *KEY))
    for marked, clean_offset in ((first, None), (second, 3), (first, None)):
        rewind(manager, marked, CONFIG, 0)
        log = log_of(manager, *KEY)
        assert (manager.high_watermark(log), manager.clean_offset(log)) == (5, clean_offset)


def test_a_kill_after_that_finds_the_start_of_the_log(manager: LogManager, tmp_path: Path) -> None:
    append(manager.create(*KEY, ID, CONFIG), 5)
    marked = mark(manager, tmp_path / "image")
    log_of(manager, *KEY).delete_records_before(4)
    rewind(manager, marked, CONFIG, 0)
    manager.abandon()
    again = log_manager([tmp_path / "a", tmp_path / "b"], VirtualClock())
    again.open(1, "c", CONFIG)
    log = log_of(again, *KEY)
    assert (log.log_start_offset, log.log_end_offset) == (0, 5)
    again.abandon()


def test_copies_are_removed_with_the_image(manager: LogManager, tmp_path: Path) -> None:
    append(manager.create(*KEY, ID, CONFIG))
    marked = mark(manager, tmp_path / "image")
    assert (tmp_path / "image").is_dir()
    assert not marked[KEY].image.is_lost
    marked.clear()
    assert not (tmp_path / "image").exists()


def test_a_log_without_a_directory_gets_one_and_is_kept(manager: LogManager, tmp_path: Path) -> None:
    manager.create(*KEY, ID, CONFIG)
    marked = mark(manager, tmp_path / "image")
    segments = log_of(manager, *KEY).local.segments
    for _ in range(2):
        rewind(manager, marked, CONFIG, 0)
        log = log_of(manager, *KEY)
        assert log.is_made
        assert log.local.segments is segments
    names = [
        path.name for path in [*(tmp_path / "a").iterdir(), *(tmp_path / "b").iterdir()] if path.is_dir()
    ]
    assert names == ["t-0"]
