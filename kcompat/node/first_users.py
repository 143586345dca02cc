"""SCRAM users that a new cluster begins with, as those of `kafka-storage format --add-scram`."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import USERS, sanitized_entity
from kcompat.store.interface import Create, NodeExistsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.environment import Environment
    from kcompat.security.added_users import AddedUser
    from kcompat.store.interface import MetadataStore, Sessions

_log = logging.getLogger(__name__)


def with_first_users(environment: Environment, users: Sequence[AddedUser]) -> Environment:
    """Return the environment whose store gets these users before its first broker, if it is new.

    A store that has a cluster already is left as it is: there, users may have been changed or deleted.
    """
    if not users:
        return environment

    def open_store(config: BrokerConfig, clock: Clock) -> _StoreWithUsers:
        return _StoreWithUsers(environment.open_store(config, clock), users)

    return replace(environment, open_store=open_store)


class _StoreWithUsers:
    """A metadata store that gets its first users with its first session."""

    def __init__(self, store: Sessions, users: Sequence[AddedUser]) -> None:
        self.is_own = store.is_own
        self._store = store
        self._users = users

    async def session(self) -> MetadataStore:
        """Return a session, as `Sessions.session` does."""
        session = await self._store.session()
        users, self._users = self._users, ()
        if users:
            await _add(session, users)
        return session

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


async def _add(session: MetadataStore, users: Sequence[AddedUser]) -> None:
    """Create these users, unless the store has the id of a cluster."""
    if await session.exists(znodes.CLUSTER_ID) is not None:
        _log.info("the users of --add-scram are not added: the cluster exists already")
        return
    configs: dict[str, dict[str, str]] = {}
    for user in users:
        configs.setdefault(user.name, {})[user.mechanism] = user.credential
    for parent in (znodes.CONFIG, f"{znodes.CONFIG}/{USERS}"):
        with suppress(NodeExistsError):
            await session.create(parent)
    paths = {name: znodes.config_path(*sanitized_entity((USERS, name))) for name in configs}
    try:
        await session.multi(
            [Create(path, znodes.encode_config(configs[name])) for name, path in paths.items()]
        )
    except NodeExistsError:
        _log.info("the users of --add-scram are not added: there are some already")
