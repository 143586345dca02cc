"""Entities with dynamic configs, and their names below `/config`, in notifications and in the image.

Names of users, clients and addresses stay sanitized, as in their paths: `alice`, `<default>` for the default
of the kind, `alice/clients/<default>` for the default client of a user. A plain name could not be told from
the default, nor a `/` in it from a path. Names of other kinds are plain.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

TOPICS = "topics"
BROKERS = "brokers"
GROUPS = "groups"
"""Kind of entity for groups. Kafka with ZooKeeper has no such kind; its node is created with the first config
of a group.
"""
USERS = "users"
CLIENTS = "clients"
"""Kind of entity for client ids, alone or within a user."""
IPS = "ips"

KINDS = (TOPICS, BROKERS, GROUPS, USERS, CLIENTS, IPS)
"""Kinds of entities whose configs brokers apply."""

DEFAULT_ENTITY = "<default>"
"""Name of the node with the defaults of a kind of entity; clients name it with the empty string."""

Entity = tuple[str, str]
"""Kind and name of an entity: ("topics", "t"), ("brokers", "<default>"), ("users", "alice/clients/c")."""


def sanitized(name: str) -> str:
    """Return a name as Kafka writes it in paths (`Sanitizer.sanitize`); `.` and `..` are encoded too, because
    ZooKeeper refuses them.
    """
    safe = quote(name, safe="").replace("~", "%7E")
    return safe.replace(".", "%2E") if set(safe) == {"."} else safe


def sanitized_entity(*parts: tuple[str, str | None]) -> Entity:
    """Return the entity of a user, a client id or an address, or of a client id within a user.

    Each part is a kind and a plain name, None for the default: `sanitized_entity(("users", "alice"))`,
    `sanitized_entity(("users", None), ("clients", "c"))`.
    """
    kind, *path = (text for part_kind, name in parts for text in (part_kind, _part(name)))
    return kind, "/".join(path)


def parts_of(entity: Entity) -> tuple[tuple[str, str | None], ...]:
    """Return the kinds and plain names in a sanitized entity, the reverse of `sanitized_entity`."""
    texts = "/".join(entity).split("/")
    return tuple(
        (kind, None if name == DEFAULT_ENTITY else unquote(name))
        for kind, name in zip(texts[::2], texts[1::2], strict=True)
    )


def entity_path(kind: str, name: str) -> str:
    """Return the path of an entity below `/config`; a group id, which may be any text, is sanitized."""
    return f"{kind}/{sanitized(name) if kind == GROUPS else name}"


def entity_of(path: str) -> Entity:
    """Return the kind and the name of an entity from its path below `/config`."""
    kind, _, name = path.partition("/")
    return kind, unquote(name) if kind == GROUPS else name


def _part(name: str | None) -> str:
    return DEFAULT_ENTITY if name is None else sanitized(name)
