"""Dynamic configs of topics, brokers and groups, which any broker reads and changes in the store.

A change is one transaction. It sets the entity's node, provided that the node is unchanged since it was read,
and adds a notification for all brokers (`config_watch`). Kafka's counterparts: `AdminZkClient`,
`ZkAdminManager`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import GROUPS, KINDS, entity_of, entity_path
from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.cluster.promised import PromisedTasks
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import (
    ANY_VERSION,
    BadVersionError,
    Check,
    Create,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    SetData,
    StoreError,
    UnknownOutcomeError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.store.interface import MetadataStore, Op, Stat

Entity = tuple[str, str]
"""Kind and name of an entity: ("topics", "t"), ("brokers", "1"), ("brokers", "<default>")."""

_log = logging.getLogger(__name__)


class EntityConfigs:
    """Dynamic configs of the cluster, read and changed by one broker.

    When a read or a change has ended, its configs are in force on this broker. Reads and changes run one
    after another, so that older configs never replace newer ones.
    """

    def __init__(self, store: MetadataStore, cluster: MetadataCache) -> None:
        self._store = store
        self._cluster = cluster
        self._alone = asyncio.Lock()
        self._tasks = PromisedTasks("configs")

    def replace(
        self, kind: str, name: str, configs: Mapping[str, str], basis: Mapping[str, str] | None = None
    ) -> Promise[ErrorCode]:
        """Replace all configs of an entity; the caller has validated the new configs.

        If `basis` is given and the stored configs differ from it, the stored configs are put in force and the
        result is INVALID_UPDATE_VERSION. The result REQUEST_TIMED_OUT means that it is unknown whether the
        configs were replaced.
        """
        return self._tasks.run(self._replace((kind, name), configs, basis))

    def ensure(self, topics: Collection[str]) -> Promise[None]:
        """Read the configs of topics whose configs are not in the image yet, and put them in force.

        The configs of a topic that no longer exists are removed.
        """
        image = self._cluster.image
        unsure = [
            ("topics", topic)
            for topic in topics
            if topic not in image.topics or ("topics", topic) not in image.entity_configs
        ]
        return self._tasks.run(self.read(unsure)) if unsure else Promise.resolved(None)

    async def read(self, entities: Iterable[Entity]) -> None:
        """Read the configs of these entities from the store and put them in force.

        The configs of a topic that no longer exists are removed.
        """
        async with self._alone:
            await self._read(list(entities))

    async def read_all(self) -> None:
        """Read the configs of all entities, except of topics that are being deleted."""
        async with self._alone:
            deleted = {("topics", name) for name in await self._store.children(znodes.DELETE_TOPICS)}
            entities = [entity for kind in KINDS for entity in await self._entities(kind)]
            await self._read([entity for entity in entities if entity not in deleted])

    async def _entities(self, kind: str) -> list[Entity]:
        try:
            names = await self._store.children(f"{znodes.CONFIG}/{kind}")
        except NoNodeError:
            return []
        return [entity_of(f"{kind}/{name}") for name in names]

    async def stop(self) -> None:
        """Cancel running reads and changes."""
        await self._tasks.stop()

    async def _read(self, entities: list[Entity]) -> None:
        nodes = await self._store.get_many([znodes.config_path(*entity) for entity in entities])
        known = self._cluster.image.entity_configs
        changed: dict[Entity, Mapping[str, str]] = {}
        for entity, node in zip(entities, nodes, strict=True):
            configs = _decoded(entity, node)
            if configs is not None and known.get(entity) != configs:
                changed[entity] = configs
        if changed:
            self._cluster.apply(UpdateConfigs(changed))

    async def _replace(
        self, entity: Entity, configs: Mapping[str, str], basis: Mapping[str, str] | None
    ) -> ErrorCode:
        async with self._alone:
            try:
                return await self._write(entity, configs, basis)
            except (BadVersionError, NodeExistsError):
                await self._read([entity])
                return ErrorCode.INVALID_UPDATE_VERSION
            except NoNodeError:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            except UnknownOutcomeError:
                await self._read([entity])
                is_done = self._cluster.image.configs(*entity) == configs
                return ErrorCode.NONE if is_done else ErrorCode.REQUEST_TIMED_OUT
            except SessionExpiredError:
                return ErrorCode.REQUEST_TIMED_OUT
            except StoreError:
                _log.exception("the configs of %s %s cannot be stored", *entity)
                return ErrorCode.KAFKA_STORAGE_ERROR

    async def _write(
        self, entity: Entity, configs: Mapping[str, str], basis: Mapping[str, str] | None
    ) -> ErrorCode:
        kind, name = entity
        path, data = znodes.config_path(kind, name), znodes.encode_config(configs)
        (node,) = await self._store.get_many([path])
        if basis is not None and (_decoded(entity, node) or {}) != basis:
            await self._read([entity])
            return ErrorCode.INVALID_UPDATE_VERSION
        ops: list[Op] = [
            Create(path, data) if node is None else SetData(path, data, node[1].version),
            Create(
                znodes.CONFIG_CHANGE_PREFIX,
                znodes.encode_config_change(entity_path(kind, name)),
                sequential=True,
            ),
        ]
        if kind == "topics":
            ops.insert(0, Check(znodes.topic_path(name), ANY_VERSION))
        if kind == GROUPS and node is None:
            with suppress(NodeExistsError):
                await self._store.create(f"{znodes.CONFIG}/{kind}")
        await self._store.multi(ops)
        self._cluster.apply(UpdateConfigs({entity: dict(configs)}))
        return ErrorCode.NONE


def _decoded(entity: Entity, node: tuple[bytes, Stat] | None) -> dict[str, str] | None:
    """Return the configs in an entity's node; None if there is no node or its payload is damaged."""
    if node is None:
        return None
    try:
        return znodes.decode_config(node[0])
    except DamagedZnodeError:
        _log.exception("the configs of %s %s cannot be read", *entity)
        return None
