"""Entities with dynamic configs, and their names below `/config` and in notifications."""

from __future__ import annotations

from urllib.parse import quote, unquote

TOPICS = "topics"
BROKERS = "brokers"
GROUPS = "groups"
"""Kind of entity for groups. Kafka with ZooKeeper has no such kind; its node is created with the first config
of a group.
"""

KINDS = (TOPICS, BROKERS, GROUPS)
"""Kinds of entities whose configs brokers apply."""


def entity_path(kind: str, name: str) -> str:
    """Return the path of an entity below `/config`.

    A group id may be any text, so it is encoded as Kafka encodes the names of users and clients; `.` and `..`
    are encoded too.
    """
    if kind != GROUPS:
        return f"{kind}/{name}"
    safe = quote(name, safe="").replace("~", "%7E")
    return f"{kind}/{safe.replace('.', '%2E') if set(safe) == {'.'} else safe}"


def entity_of(path: str) -> tuple[str, str]:
    """Return the kind and the name of an entity from its path below `/config`."""
    kind, _, name = path.partition("/")
    return kind, unquote(name) if kind == GROUPS else name
