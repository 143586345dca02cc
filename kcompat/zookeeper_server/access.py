"""Access control lists: the permissions of clients on a node, and the proof of a client's identity.

An identity is a scheme and an id. The schemes are those that ZooKeeper has without configuration: `world`,
`ip` and `digest`; `auth` in a list to set stands for all identities that the client has proved.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from enum import IntFlag
from ipaddress import AddressValueError, IPv4Address
from typing import TYPE_CHECKING

from kcompat.store.interface import Access
from kcompat.zookeeper_server.records import ACL, Code, Id
from kcompat.zookeeper_server.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.store.interface import Acl

Identity = tuple[str, str]
"""Scheme, and the id of a client in that scheme."""


class NodePermission(IntFlag):
    """Permissions that an access control list can give."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16


READ_ONLY: Acl = (Access(NodePermission.READ, "world", "anyone"),)
"""Access control list that lets every client read the node and do nothing else."""


def digest_identity(proof: bytes) -> Identity:
    """Return the digest identity of a client that has sent `user:password`."""
    text = proof.decode("utf-8", "replace")
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
    return "digest", f"{text.partition(':')[0]}:{b64encode(digest).decode()}"


def allows(acl: Acl, permission: NodePermission, identities: Iterable[Identity]) -> bool:
    """Return whether an entry of the list gives one of the identities at least one of the permissions."""
    return not acl or any(
        entry.permissions & permission
        and (
            (entry.scheme, entry.id) == ("world", "anyone")
            or any(_matches(entry, scheme, name) for scheme, name in identities)
        )
        for entry in acl
    )


def insist(acl: Acl, permission: NodePermission, identities: Iterable[Identity]) -> None:
    """Raise RefusedError with NO_AUTH unless `acl` gives one of the identities the permission."""
    if not allows(acl, permission, identities):
        raise RefusedError(Code.NO_AUTH)


def accept(requested: Sequence[ACL], identities: Sequence[Identity]) -> Acl:
    """Return the list to store for the requested list. Raises `RefusedError` with INVALID_ACL."""
    accepted: list[Access] = []
    for entry in dict.fromkeys(requested):
        scheme, name = entry.id.scheme or "", entry.id.id or ""
        if scheme == "auth":
            proved = [Access(entry.perms, *each) for each in identities if each[0] == "digest"]
            if not proved:
                raise RefusedError(Code.INVALID_ACL)
            accepted += proved
        elif _is_valid(scheme, name):
            accepted.append(Access(entry.perms, scheme, name))
        else:
            raise RefusedError(Code.INVALID_ACL)
    if not accepted:
        raise RefusedError(Code.INVALID_ACL)
    return tuple(accepted)


def visible_acl(acl: Acl, identities: Iterable[Identity]) -> tuple[ACL, ...]:
    """Return an access control list as a client sees it: without digests, unless the client administers the
    node.
    """
    is_admin = allows(acl, NodePermission.ADMIN, identities)
    return tuple(
        ACL(entry.permissions, Id(entry.scheme, entry.id if is_admin else _masked(entry))) for entry in acl
    )


def _masked(entry: Access) -> str:
    user, colon, _ = entry.id.partition(":")
    return f"{user}:x" if colon and entry.scheme == "digest" else entry.id


def _is_valid(scheme: str, name: str) -> bool:
    match scheme:
        case "world":
            return name == "anyone"
        case "digest":
            return len(name.rstrip(":").split(":")) == 2  # as Java splits
        case "ip":
            return _network(name) is not None
        case _:
            return False


def _matches(entry: Access, scheme: str, name: str) -> bool:
    if entry.scheme != scheme:
        return False
    if scheme != "ip":
        return entry.id == name
    network, address = _network(entry.id), _network(name)
    if network is None or address is None:
        return False
    shift = 32 - network[1]
    return network[0] >> shift == address[0] >> shift


def _network(text: str) -> tuple[int, int] | None:
    """Return the address of an IPv4 network, and the number of its significant bits."""
    address, slash, bits = text.partition("/")
    try:
        found = int(IPv4Address(address)), int(bits) if slash else 32
    except (AddressValueError, ValueError):
        return None
    return found if 0 <= found[1] <= 32 else None
