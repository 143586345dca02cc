"""Entities with dynamic configs, and their names below `/config` and in notifications."""

from __future__ import annotations

from urllib.parse import quote, unquote

TOPICS = "topics"
BROKERS = "brokers"
GROUPS = "groups"
"""Kind of the entities that are groups. Kafka with ZooKeeper has none; the node is created with the first."""

KINDS = (TOPICS, BROKERS, GROUPS)
"""Kinds of entities whose configs brokers obey."""


def entity_path(kind: str, name: str) -> str:
    """Return the path of an entity below `/config`. A group id may be any text, so it is sanitized as Kafka
    does with the names of users and clients, and is never `.` or `..`.
    """
    if kind != GROUPS:
        return f"{kind}/{name}"
    safe = quote(name, safe="").replace("~", "%7E")
    return f"{kind}/{safe.replace('.', '%2E') if set(safe) == {'.'} else safe}"


def entity_of(path: str) -> tuple[str, str]:
    """Return kind and name of an entity from its path below `/config`."""
    kind, _, name = path.partition("/")
    return kind, unquote(name) if kind == GROUPS else name
