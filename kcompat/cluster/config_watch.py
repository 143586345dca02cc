"""Notifications of changed dynamic configs.

A broker or tool that changes the configs of an entity leaves a numbered notification under `/config/changes`.
Every broker watches that node and reads the configs that new notifications name. A broker reads all configs
when it starts, and when it may have missed notifications. A broker that reads notifications removes those
older than 15 minutes. Kafka's counterparts: `ZkConfigManager`, `ZkNodeChangeNotificationListener`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import CLIENTS, KINDS, USERS, entity_of
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.store.interface import EventType, NoNodeError, SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.entity_configs import EntityConfigs
    from kcompat.store.interface import MetadataStore, Stat, Watch, WatchEvent

KEPT_MS = 15 * 60 * 1000
"""Time in ms for which a notification is kept, for brokers that are slow to read it."""

_log = logging.getLogger(__name__)


class ConfigWatch:
    """One broker's watch on notifications of changed configs, from `start` to `stop`."""

    def __init__(self, store: MetadataStore, configs: EntityConfigs, now_ms: Callable[[], int]) -> None:
        """Prepare the watch; `now_ms` returns the time in ms since the epoch."""
        self._store = store
        self._configs = configs
        self._now_ms = now_ms
        self._last_read = -1
        self._has_missed = False
        self._is_told = asyncio.Event()
        self._watch: Watch | None = None
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Apply all configs, and from then on every change. Raises the store's errors."""
        self._watch = self._store.watch(znodes.CONFIG_CHANGES, self._told)
        await self._read_everything()
        self._listening = asyncio.create_task(self._listen(), name="config-watch")

    async def stop(self) -> None:
        """Stop watching, and cancel the reads and changes of configs under way."""
        self.abandon()
        if self._listening is not None:
            with suppress(asyncio.CancelledError):
                await self._listening
        await self._configs.stop()

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
                _log.exception("changes of configs could not be read; the next notification brings them")
                self._has_missed = True

    async def _read_everything(self) -> None:
        names = await self._notifications()
        await self._configs.read_all()
        self._last_read = max((_number(name) for name in names), default=-1)

    async def _read_news(self) -> None:
        names = await self._notifications()
        nodes = await self._store.get_many([f"{znodes.CONFIG_CHANGES}/{name}" for name in names])
        notifications = {name: node for name, node in zip(names, nodes, strict=True) if node is not None}
        entities: dict[Entity, None] = {}
        for name, (data, _) in notifications.items():
            if _number(name) > self._last_read:
                entity = _entity(name, data)
                if entity is not None:
                    entities[entity] = None
        await self._configs.read(entities)
        self._last_read = max((self._last_read, *map(_number, names)))
        await self._remove_old(notifications)

    async def _notifications(self) -> list[str]:
        """Return the names of the present notifications, oldest first."""
        return [name for name in await self._store.children(znodes.CONFIG_CHANGES) if _number(name) >= 0]

    async def _remove_old(self, notifications: dict[str, tuple[bytes, Stat]]) -> None:
        oldest_ms = self._now_ms() - KEPT_MS
        for name, (_, stat) in notifications.items():
            if stat.ctime_ms < oldest_ms:
                with suppress(NoNodeError):  # another broker was faster
                    await self._store.delete(f"{znodes.CONFIG_CHANGES}/{name}")


def _number(name: str) -> int:
    """Return the number in the name of a notification; -1 if the name is not that of a notification."""
    digits = name.removeprefix("config_change_")
    return int(digits) if digits != name and digits.isdigit() else -1


def _entity(name: str, data: bytes) -> Entity | None:
    """Return the entity that a notification names; None if brokers apply no configs of such an entity."""
    try:
        path = znodes.decode_config_change(data)
    except DamagedZnodeError as error:
        _log.warning("the notification %s says nothing: %s", name, error)
        return None
    match path.split("/"):
        case [kind, entity] if kind in KINDS and entity:
            return entity_of(path)
        case [kind, user, clients, client] if (kind, clients) == (USERS, CLIENTS) and user and client:
            return entity_of(path)
        case _:
            return None
