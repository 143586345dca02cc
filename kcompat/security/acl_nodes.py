"""ACLs in the metadata store: paths and payloads as Kafka 3.9 has them in ZooKeeper (`kafka.zk.ZkData`,
`AclEntry`).

Each pattern has a node with its entries: `/kafka-acl/<type>/<name>` for literal ones and
`/kafka-acl-extended/prefixed/<type>/<name>` for prefixed ones. Notifications of changes stand below a node
of their own for each kind of patterns.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote

import msgspec

from kcompat.security.acls import STORED_KINDS, AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.operations import SUPPORTED_OPERATIONS, Operation, ResourceType, camel_case
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Member = TypeVar("Member", bound=IntEnum)
Payload = TypeVar("Payload", bound=msgspec.Struct)

ROOTS: Final[Mapping[PatternType, str]] = {
    PatternType.LITERAL: "/kafka-acl",
    PatternType.PREFIXED: "/kafka-acl-extended/prefixed",
}
CHANGES: Final[Mapping[PatternType, str]] = {
    PatternType.LITERAL: "/kafka-acl-changes",
    PatternType.PREFIXED: "/kafka-acl-extended-changes",
}
"""Nodes above the patterns, and above the notifications, by kind of pattern."""

TYPES: Final = tuple(SUPPORTED_OPERATIONS)
"""Resource types that have ACLs."""

PERSISTENT_PATHS: Final = (
    "/kafka-acl-extended",
    *ROOTS.values(),
    *(f"{root}/{camel_case(each)}" for root in ROOTS.values() for each in TYPES),
    *CHANGES.values(),
)
"""Nodes that an authorizer creates at its start if they are missing, parents first."""


_ESCAPES: Final = re.compile("%2[5EF]")


class UnreadableAclError(StoreError):
    """The payload of a node is not one that a version of Kafka writes."""


def type_path(kind: PatternType, resource_type: ResourceType) -> str:
    """Return the path of the node above the patterns of one kind and resource type."""
    return f"{ROOTS[kind]}/{camel_case(resource_type)}"


def pattern_path(pattern: ResourcePattern, *, escapes: bool) -> str:
    """Return the path of a pattern. With `escapes`, names may be any text: `/` is escaped as in URLs, and so
    are names that consist of dots and texts that look like such escapes.
    """
    name = pattern.name
    if escapes:
        name = _ESCAPES.sub(lambda found: f"%25{found[0][1:]}", name).replace("/", "%2F")
        name = name.replace(".", "%2E") if set(name) == {"."} else name
    return f"{type_path(pattern.kind, pattern.type)}/{name}"


def name_in(node: str, *, escapes: bool) -> str:
    """Return the name of a pattern from the name of its node."""
    return _ESCAPES.sub(lambda found: unquote(found[0]), node) if escapes else node


def change_prefix(kind: PatternType) -> str:
    """Return the path of a notification about patterns of one kind, up to its number."""
    return f"{CHANGES[kind]}/acl_changes_"


def encode_entries(entries: Iterable[AclEntry]) -> bytes:
    """Encode the payload of a pattern's node."""
    rows = [
        {
            "principal": entry.principal,
            "permissionType": camel_case(entry.permission),
            "operation": camel_case(entry.operation),
            "host": entry.host,
        }
        for entry in sorted(entries)
    ]
    return msgspec.json.encode({"version": 1, "acls": rows})


class _Row(msgspec.Struct, rename="camel"):
    principal: str
    permission_type: str
    operation: str
    host: str = "*"


class _Entries(msgspec.Struct):
    version: int
    acls: list[_Row] = []


def decode_entries(data: bytes) -> frozenset[AclEntry]:
    """Decode the payload of a pattern's node. Raises `UnreadableAclError`."""
    if not data:
        return frozenset()
    payload = _decode(data, _Entries)
    return frozenset(
        AclEntry(
            _member(Operation, row.operation),
            row.principal,
            row.host,
            _member(PermissionType, row.permission_type),
        )
        for row in payload.acls
    )


def encode_change(pattern: ResourcePattern) -> bytes:
    """Encode the notification that a pattern has changed."""
    if pattern.kind is PatternType.LITERAL:
        return f"{pattern.type.name}:{pattern.name}".encode()
    payload = {
        "version": 1,
        "resourceType": pattern.type.name,
        "name": pattern.name,
        "patternType": pattern.kind.name,
    }
    return msgspec.json.encode(payload)


class _Change(msgspec.Struct, rename="camel"):
    version: int
    resource_type: str
    name: str
    pattern_type: str


def decode_change(kind: PatternType, data: bytes) -> ResourcePattern:
    """Return the pattern that a notification below `CHANGES[kind]` names. Raises `UnreadableAclError`."""
    if kind is PatternType.LITERAL:
        try:
            type_name, separator, name = data.decode().partition(":")
        except UnicodeDecodeError as error:
            raise UnreadableAclError(f"not UTF-8: {data[:80]!r}") from error
        if not separator:
            raise UnreadableAclError(f"no resource: {data[:80]!r}")
        pattern = ResourcePattern(_member(ResourceType, type_name), name, kind)
    else:
        change = _decode(data, _Change)
        pattern = ResourcePattern(
            _member(ResourceType, change.resource_type),
            change.name,
            _member(PatternType, change.pattern_type),
        )
    if pattern.type not in TYPES or pattern.kind not in STORED_KINDS or not pattern.name:
        raise UnreadableAclError(f"no pattern of resources: {data[:80]!r}")
    return pattern


def _decode(data: bytes, kind: type[Payload]) -> Payload:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableAclError(f"{error}: {data[:80]!r}") from error


def _member(kind: type[Member], text: str) -> Member:
    """Return the member of an enumeration that Kafka writes as this text; UNKNOWN if there is none."""
    found: Member = _BY_NAME[kind].get(text.replace("_", "").lower(), kind(0))
    return found


_BY_NAME: Final[Mapping[type[IntEnum], Mapping[str, Any]]] = {
    kind: {camel_case(member).lower(): member for member in kind}
    for kind in (Operation, PermissionType, ResourceType, PatternType)
}
