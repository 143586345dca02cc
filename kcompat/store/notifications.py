"""Numbered notifications below a node of the store, by which each broker hears of changes.

A broker or tool that changes an entity creates a sequential node whose data names the entity. A broker reads
all entities when it starts and when it may have missed notifications, and otherwise the entities that new
notifications name. A broker that reads notifications removes those older than 15 minutes. Kafka's
counterpart: `ZkNodeChangeNotificationListener`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.store.interface import EventType, NoNodeError, SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.store.interface import MetadataStore, Stat, Watch, WatchEvent

KEPT_MS = 15 * 60 * 1000
"""Time in ms for which a notification is kept, for brokers that are slow to read it."""

RETRY_S: Final = 1.0
"""Time in s after which changes that could not be read are read again. A revoked permission must not stay in
force until the next change."""

_log = logging.getLogger(__name__)


class NotificationReader(Protocol):
    """Port that reads changed entities and puts them in force."""

    async def read_all(self) -> None:
        """Read every entity that notifications can name. Raises the store's errors."""

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        """Read the entities that new notifications name; each notification is the name and the data of its
        node.
        """


class NotificationWatch:
    """One broker's watch on the notifications below one node, from `start` to `stop`."""

    def __init__(
        self, store: MetadataStore, prefix: str, reader: NotificationReader, now_ms: Callable[[], int]
    ) -> None:
        """Prepare the watch. `prefix` is the path of a notification up to its number; `now_ms` returns the
        time in ms since the epoch.
        """
        self._store = store
        self._parent, _, self._prefix = prefix.rpartition("/")
        self._reader = reader
        self._now_ms = now_ms
        self._last_read = -1
        self._has_missed = False
        self._is_told = asyncio.Event()
        self._watch: Watch | None = None
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Have all entities read, and from then on every change. Raises the store's errors."""
        self._watch = self._store.watch(self._parent, self._told)
        await self._read_everything()
        self._listening = asyncio.create_task(self._listen(), name=f"watch of {self._parent}")

    async def stop(self) -> None:
        """Stop watching, and cancel the read under way."""
        self.abandon()
        if self._listening is not None:
            with suppress(asyncio.CancelledError):
                await self._listening

    def abandon(self) -> None:
        """Stop watching at once."""
        if self._watch is not None:
            self._watch.cancel()
        if self._listening is not None:
            self._listening.cancel()

    def _told(self, event: WatchEvent) -> None:
        self._has_missed |= event.type is EventType.MISSED
        self._is_told.set()

    async def _listen(self) -> None:
        while True:
            await self._is_told.wait()
            self._is_told.clear()
            has_missed, self._has_missed = self._has_missed, False
            try:
                if has_missed:
                    await self._read_everything()
                else:
                    await self._read_news()
            except SessionExpiredError:
                pass  # the next session reports missed changes
            except Exception:
                _log.exception("changes below %s could not be read; they are read again", self._parent)
                self._has_missed = True
                self._is_told.set()
                await asyncio.sleep(RETRY_S)

    async def _read_everything(self) -> None:
        names = await self._names()
        await self._reader.read_all()
        self._last_read = max(map(self._number, names), default=-1)

    async def _read_news(self) -> None:
        names = await self._names()
        nodes = await self._store.get_many([f"{self._parent}/{name}" for name in names])
        present = {name: node for name, node in zip(names, nodes, strict=True) if node is not None}
        await self._reader.read_changed(
            [(name, data) for name, (data, _) in present.items() if self._number(name) > self._last_read]
        )
        self._last_read = max((self._last_read, *map(self._number, names)))
        await self._remove_old(present)

    async def _names(self) -> list[str]:
        """Return the names of the present notifications, oldest first."""
        return [name for name in await self._store.children(self._parent) if self._number(name) >= 0]

    async def _remove_old(self, notifications: dict[str, tuple[bytes, Stat]]) -> None:
        oldest_ms = self._now_ms() - KEPT_MS
        for name, (_, stat) in notifications.items():
            if stat.ctime_ms < oldest_ms:
                with suppress(NoNodeError):  # another broker was faster
                    await self._store.delete(f"{self._parent}/{name}")

    def _number(self, name: str) -> int:
        """Return the number in the name of a notification; -1 if the name is not that of a notification."""
        digits = name.removeprefix(self._prefix)
        return int(digits) if digits != name and digits.isdigit() else -1
