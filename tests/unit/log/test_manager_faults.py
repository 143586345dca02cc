"""Bugs in background work cost only their own log, never the thread or the round that met them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kcompat.log.files import Files
from kcompat.records.batch import read_header
from kcompat.worker import ThreadWorker
from support.default_settings import log_settings
from support.eventually import limit_s
from support.log_harness import make_batch
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.log.files import OpenFile
    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

TIMEOUT_S = 10


class BuggyFiles(Files):
    """Has a bug that is met with what belongs to the topic named `broken`, or with every sync."""

    broken = "no topic"
    breaks_syncs = False

    def make_directory(self, path: str) -> None:
        if f"/{self.broken}-" in path:
            raise ZeroDivisionError(path)
        super().make_directory(path)

    def sync(self, file: OpenFile) -> None:
        if self.breaks_syncs:
            raise ZeroDivisionError("sync")
        super().sync(file)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def files() -> BuggyFiles:
    return BuggyFiles()


@pytest.fixture
def manager(tmp_path: Path, clock: VirtualClock, files: BuggyFiles) -> Iterator[LogManager]:
    manager = log_manager([tmp_path], clock, files)
    manager.open(1, "c", log_settings())
    yield manager
    manager.close()


def append(log: Log) -> None:
    batch = memoryview(make_batch())
    assert not log.append_as_leader(batch, read_header(batch), 0, 1000).error


def test_a_storage_thread_survives_the_work_that_it_is_given(caplog: pytest.LogCaptureFixture) -> None:
    worker, done = ThreadWorker("storage"), threading.Event()
    worker.submit(lambda: 1 // 0)
    worker.submit(done.set)
    assert done.wait(limit_s(TIMEOUT_S))
    worker.close()
    assert caplog.text.count("ZeroDivisionError") == 1


def test_new_logs_are_made_though_one_of_them_cannot_be(
    manager: LogManager, clock: VirtualClock, files: BuggyFiles, tmp_path: Path
) -> None:
    files.broken = "bad"
    for topic in ("bad", "good"):
        manager.create(topic, 0, bytes(16), log_settings())
    clock.advance(1000)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["good-0"]
    manager.create("later", 0, bytes(16), log_settings())
    clock.advance(1000)
    assert (tmp_path / "later-0").is_dir()
    files.broken = "no topic"


def test_a_round_over_all_logs_goes_on_behind_one_that_raises(
    manager: LogManager, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in ("a", "bad", "c"):
        append(manager.create(topic, 0, bytes(16), log_settings(retention_ms=-1)))
    seen = []

    def high_watermark(log: Log) -> int:
        if log.topic == "bad":
            raise ZeroDivisionError(log.topic)
        seen.append(log.topic)
        return 0

    manager.enforce_retention(clock.now_ms(), high_watermark)
    clock.advance(1000)
    assert seen == ["a", "c"]
    assert "ZeroDivisionError: bad" in caplog.text


def test_a_bug_in_a_sync_is_a_failed_sync_and_what_waits_for_it_hears_so(
    manager: LogManager, clock: VirtualClock, files: BuggyFiles
) -> None:
    log = manager.create("t", 0, bytes(16), log_settings(flush_messages=1))
    told = threading.Event()
    log.durability.on_synced = told.set
    files.breaks_syncs = True
    append(log)
    for _ in range(200):
        clock.advance(1)
        if told.wait(0.05):
            break
    assert told.is_set()
    assert log.is_failed
    assert log.recovery_point == 0
