"""Creation of the SCRAM users of a new cluster, as `kafka-storage format --add-scram` does."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import USERS, sanitized_entity
from kcompat.node.prepared_store import with_prepared_store
from kcompat.store.interface import Create, NodeExistsError, NoNodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.node.environment import Environment
    from kcompat.security.added_users import AddedUser
    from kcompat.store.interface import MetadataStore

_log = logging.getLogger(__name__)


def with_first_users(environment: Environment, users: Sequence[AddedUser]) -> Environment:
    """Return the environment whose store gets these users before its first broker, if the cluster is new.

    An existing cluster only gets users that replace others, since the other ones may have been changed or
    deleted there.
    """
    if not users:
        return environment
    return with_prepared_store(environment, lambda session: _add(session, users))


async def _add(session: MetadataStore, users: Sequence[AddedUser]) -> None:
    """Create the users if the store has no cluster id yet; users that replace others are stored in any
    case.
    """
    for parent in (znodes.CONFIG, f"{znodes.CONFIG}/{USERS}"):
        with suppress(NodeExistsError):
            await session.create(parent)
    for path, configs in _configs(user for user in users if user.replaces).items():
        await _put(session, path, configs)
    first = _configs(user for user in users if not user.replaces)
    if not first:
        return
    if await session.exists(znodes.CLUSTER_ID) is not None:
        await _warn_of_missing(session, first)
        return
    try:
        await session.multi([Create(path, znodes.encode_config(configs)) for path, configs in first.items()])
    except NodeExistsError:
        _log.info("the users of --add-scram are not added: there are some already")
    else:
        names = ", ".join(dict.fromkeys(user.name for user in users if not user.replaces))
        _log.info("a new cluster begins with the users %s", names)


async def _warn_of_missing(session: MetadataStore, paths: Iterable[str]) -> None:
    """Say that users are not added to a cluster that exists already, if it does not have them."""
    missing = [path for path in paths if await session.exists(path) is None]
    if missing:
        _log.warning(
            "the users of --add-scram are not added: the cluster exists already, and has no %s. "
            "Add users to it with kcompat configs --entity-type users",
            ", ".join(path.rpartition("/")[2] for path in missing),
        )


def _configs(users: Iterable[AddedUser]) -> dict[str, dict[str, str]]:
    """Return the configs of users by path."""
    configs: dict[str, dict[str, str]] = {}
    for user in users:
        path = znodes.config_path(*sanitized_entity((USERS, user.name)))
        configs.setdefault(path, {})[user.mechanism] = user.credential
    return configs


async def _put(session: MetadataStore, path: str, configs: Mapping[str, str]) -> None:
    """Set configs of a user, whose other configs are kept. No broker of this cluster is running yet."""
    try:
        data, _ = await session.get(path)
    except NoNodeError:
        await session.create(path, znodes.encode_config(configs))
    else:
        await session.set(path, znodes.encode_config({**znodes.decode_config(data), **configs}))
