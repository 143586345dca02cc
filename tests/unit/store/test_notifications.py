"""Numbered notifications are read once, and everything is read where some may have been missed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.store.notifications import NotificationWatch
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kcompat.store.process_session import ProcessSession

NOW_MS = 1_700_000_000_000


class Reader:
    """A reader that notes what it is told, and fails as often as the test says."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.failures = 0
        self._changed = asyncio.Event()

    def _note(self, what: object) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is away")
        self.told.append(what)
        self._changed.set()

    async def read_all(self) -> None:
        self._note("all")

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        self._note([data for _, data in notifications])

    async def until(self, *told: object) -> None:
        async with asyncio.timeout(10):
            while self.told != [*told]:
                self._changed.clear()
                await self._changed.wait()


class Watched:
    """A store with a parent of notifications, and one watch on it."""

    def __init__(self, session: ProcessSession, other: ProcessSession) -> None:
        self.session = session
        self.other = other
        self.reader = Reader()
        self.watch = NotificationWatch(session, "/changes/change_", self.reader, lambda: NOW_MS)

    async def notify(self, data: bytes) -> None:
        await self.other.create("/changes/change_", data, sequential=True)


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    store = ProcessStore.in_memory(lambda: NOW_MS)
    watched = Watched(await store.session(), await store.session())
    await watched.other.create("/changes")
    await watched.notify(b"before")
    await watched.watch.start()
    yield watched
    await watched.watch.stop()
    await store.close()


async def test_each_notification_is_read_once(watched: Watched) -> None:
    await watched.notify(b"a")
    await watched.reader.until("all", [b"a"])
    await watched.other.create("/changes/other_0000000009", b"no notification")
    await watched.reader.until("all", [b"a"], [])
    await watched.notify(b"b")
    await watched.reader.until("all", [b"a"], [], [b"b"])


async def test_everything_is_read_after_a_failure(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.reader.failures = 1
    await watched.notify(b"a")
    await watched.reader.until("all", "all")
    assert "changes below /changes could not be read" in caplog.text


async def test_everything_is_read_after_an_interruption(watched: Watched) -> None:
    watched.session.suspend()
    await watched.notify(b"a")
    watched.session.resume()
    await watched.reader.until("all", "all")


async def test_a_watch_that_has_ended_reads_nothing(watched: Watched) -> None:
    watched.watch.abandon()
    await watched.notify(b"a")
    await watched.watch.stop()
    assert watched.reader.told == ["all"]
