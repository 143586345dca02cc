"""Dynamic configs of all kinds of entities, which any broker reads and changes in the store.

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
from kcompat.cluster.config_entities import (
    CLIENTS,
    GROUPS,
    IPS,
    KINDS,
    TOPICS,
    USERS,
    entity_of,
    entity_path,
)
from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import (
    ANY_VERSION,
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    StoreError,
    UnknownOutcomeError,
)
from kcompat.store.promised import PromisedTasks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.store.interface import MetadataStore, Op, Stat

_DELETED_WHEN_EMPTY = (USERS, CLIENTS, IPS)
"""Kinds of entities whose nodes are deleted with their last config."""

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

    def refresh(self, entities: Collection[Entity]) -> Promise[None]:
        """Put the stored configs of these entities in force, so that a change is decided on them.

        Without a session the image stays as it is; a change fails then.
        """
        return self._tasks.run(self._refresh(entities))

    async def _refresh(self, entities: Collection[Entity]) -> None:
        with suppress(SessionExpiredError):
            await self.read(entities)

    async def read(self, entities: Iterable[Entity]) -> None:
        """Read the configs of these entities from the store and put them in force.

        The configs of a topic that no longer exists are removed.
        """
        async with self._alone:
            await self._read(list(entities))

    async def read_all(self) -> None:
        """Read the configs of all entities, except of topics that are being deleted."""
        async with self._alone:
            deleted = {(TOPICS, name) for name in await self._store.children(znodes.DELETE_TOPICS)}
            known = [entity for entity in self._cluster.image.entity_configs if entity[0] != TOPICS]
            stored = [entity for kind in KINDS for entity in await self._entities(kind)]
            await self._read([entity for entity in dict.fromkeys(known + stored) if entity not in deleted])

    async def _entities(self, kind: str) -> list[Entity]:
        entities = [entity_of(f"{kind}/{name}") for name in await self._names(kind)]
        if kind == USERS:
            users = await self._store.get_many([znodes.config_path(*user) for user in entities])
            parents = [
                f"{user}/{CLIENTS}"
                for (_, user), node in zip(entities, users, strict=True)
                if node is not None and node[1].children
            ]
            entities += [
                (USERS, f"{parent}/{client}")
                for parent in parents
                for client in await self._names(f"{USERS}/{parent}")
            ]
        return entities

    async def _names(self, parent: str) -> list[str]:
        try:
            return await self._store.children(f"{znodes.CONFIG}/{parent}")
        except NoNodeError:
            return []

    async def stop(self) -> None:
        """Cancel running reads and changes."""
        await self._tasks.stop()

    async def _read(self, entities: list[Entity]) -> None:
        nodes = await self._store.get_many([znodes.config_path(*entity) for entity in entities])
        known = self._cluster.image.entity_configs
        changed: dict[Entity, Mapping[str, str]] = {}
        for entity, node in zip(entities, nodes, strict=True):
            configs = _decoded(entity, node)
            # A topic without configs must be in the image: only then the image is known to be complete.
            unset: dict[str, str] | None = None if entity[0] == TOPICS else {}
            if configs is not None and known.get(entity, unset) != configs:
                changed[entity] = configs
        if changed:
            self._cluster.apply(UpdateConfigs(changed))

    async def _replace(
        self, entity: Entity, configs: Mapping[str, str], basis: Mapping[str, str] | None
    ) -> ErrorCode:
        async with self._alone:
            try:
                return await self._write(entity, configs, basis)
            except (BadVersionError, NodeExistsError, NotEmptyError):
                await self._read([entity])
                return ErrorCode.INVALID_UPDATE_VERSION
            except NoNodeError:  # of a topic, or of a parent that another broker has deleted meanwhile
                is_retried = entity[0] == USERS
                return (
                    ErrorCode.INVALID_UPDATE_VERSION if is_retried else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
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
        ops: list[Op] = [Check(znodes.topic_path(name), ANY_VERSION)] if kind == TOPICS else []
        if node is not None and not configs and kind in _DELETED_WHEN_EMPTY and not node[1].children:
            ops += await self._deletion(entity, node[1])
        else:
            ops.append(Create(path, data) if node is None else SetData(path, data, node[1].version))
        notification = znodes.encode_config_change(entity_path(kind, name))
        ops.append(Create(znodes.CONFIG_CHANGE_PREFIX, notification, sequential=True))
        if node is None:
            await self._make_room(kind, name)
        await self._store.multi(ops)
        self._cluster.apply(UpdateConfigs({entity: dict(configs)}))
        return ErrorCode.NONE

    async def _deletion(self, entity: Entity, stat: Stat) -> list[Op]:
        """Return the operations that delete an entity's node, and those of its parents that are then empty,
        as Kafka does.
        """
        kind, name = entity
        ops: list[Op] = [Delete(znodes.config_path(kind, name), stat.version)]
        if kind != USERS or "/" not in name:
            return ops
        user, clients, _ = name.split("/")
        parents = [znodes.config_path(kind, f"{user}/{clients}"), znodes.config_path(kind, user)]
        for parent, node in zip(parents, await self._store.get_many(parents), strict=True):
            if (
                node is None
                or node[1].children > 1
                or (parent == parents[1] and _decoded((kind, user), node))
            ):
                break
            ops.append(Delete(parent, node[1].version))
        return ops

    async def _make_room(self, kind: str, name: str) -> None:
        """Create the parents of an entity's node that are not created at a broker's start, as Kafka does."""
        parents = [kind] if kind == GROUPS else []
        if kind == USERS and "/" in name:
            user, clients, _ = name.split("/")
            parents = [f"{kind}/{user}", f"{kind}/{user}/{clients}"]
        for parent in parents:
            with suppress(NodeExistsError):
                await self._store.multi([Create(f"{znodes.CONFIG}/{parent}", None)])


def _decoded(entity: Entity, node: tuple[bytes, Stat] | None) -> dict[str, str] | None:
    """Return the configs in an entity's node; None if the node of a topic is absent, or a payload damaged.

    A node without data is the parent of other nodes and has no configs.
    """
    if node is None:
        return None if entity[0] == TOPICS else {}
    if not node[0]:
        return {}
    try:
        return znodes.decode_config(node[0])
    except DamagedZnodeError:  # its text may show a secret
        _log.error("the configs of %s %s cannot be read", *entity)
        return None
