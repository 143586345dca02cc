"""Notifications of changed dynamic configs.

A broker or tool that changes the configs of an entity leaves a numbered notification under `/config/changes`.
Every broker watches that node and reads the configs that new notifications name. Kafka's counterpart:
`ZkConfigManager`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import CLIENTS, KINDS, USERS, entity_of
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.store.notifications import NotificationWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.entity_configs import EntityConfigs
    from kcompat.store.interface import MetadataStore

_log = logging.getLogger(__name__)


class ConfigWatch:
    """One broker's watch on notifications of changed configs, from `start` to `stop`."""

    def __init__(self, store: MetadataStore, configs: EntityConfigs, now_ms: Callable[[], int]) -> None:
        """Prepare the watch; `now_ms` returns the time in ms since the epoch."""
        self._configs = configs
        self._watch = NotificationWatch(store, znodes.CONFIG_CHANGE_PREFIX, self, now_ms)

    async def start(self) -> None:
        """Apply all configs, and from then on every change. Raises the store's errors."""
        await self._watch.start()

    async def stop(self) -> None:
        """Stop watching, and cancel the reads and changes of configs under way."""
        await self._watch.stop()
        await self._configs.stop()

    def abandon(self) -> None:
        """Stop watching at once."""
        self._watch.abandon()

    async def read_all(self) -> None:
        """Read all configs and put them in force."""
        await self._configs.read_all()

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        """Read the configs that notifications name and put them in force."""
        entities = [_entity(name, data) for name, data in notifications]
        await self._configs.read(dict.fromkeys(entity for entity in entities if entity is not None))


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
