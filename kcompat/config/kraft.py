"""Check that a KRaft node's settings describe a cluster of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.config.errors import ConfigError
from kcompat.config.java_text import split_list, trim

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES: Final = "process.roles"
VOTERS: Final = "controller.quorum.voters"
CONTROLLERS: Final = "controller.quorum.bootstrap.servers"
QUORUM_KEYS: Final = (ROLES, VOTERS, CONTROLLERS)
"""The keys with the nodes of a KRaft cluster and the roles of this one."""


def insist_on_one_node(values: Mapping[str, str]) -> None:
    """Refuse the settings of a node of a larger KRaft cluster, since kcompat has no quorum to join.

    `values` are the texts of a configuration. With `zookeeper.connect` the brokers form a cluster there, and
    nothing is refused.

    Raises:
        ConfigError: the settings name other nodes, which this broker could not reach.
    """
    if values.get("zookeeper.connect"):
        return
    roles = _items(values.get(ROLES, ""))
    nodes = max(len(_items(values.get(key, ""))) for key in (VOTERS, CONTROLLERS))
    if nodes > 1 or (roles and set(roles) != {"broker", "controller"}):
        given = [f"{key}={','.join(_items(values[key]))}" for key in QUORUM_KEYS if values.get(key)]
        raise ConfigError(
            f"{' and '.join(given)} belong to a KRaft cluster of several nodes, and this broker would be "
            "alone: several brokers meet through zookeeper.connect. To start one alone, empty these keys, as "
            f"with --override {VOTERS}="
        )


def _items(text: str) -> list[str]:
    return [item for item in split_list(trim(text)) if item]
