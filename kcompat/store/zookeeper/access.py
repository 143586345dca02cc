"""Access lists of the nodes that a broker makes in ZooKeeper. Kafka's counterpart: `ZkData.defaultAcls`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.store.interface import OPEN_ACL, Access

if TYPE_CHECKING:
    from kcompat.store.interface import Acl

ALL, READ = 31, 1

CREATOR_ONLY: Acl = (Access(ALL, "auth", ""),)
"""ZooKeeper puts those in whom it knows the session as."""

READ_BY_ALL: Acl = (*CREATOR_ONLY, Access(READ, "world", "anyone"))

_SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token/tokens")
"""Below these, and at what begins like them, are secrets."""


def default_acl(path: str, *, is_secure: bool) -> Acl:
    """The access list of a new node. Unless `is_secure` (`zookeeper.set.acl`) everybody may do everything, as
    they may with `/consumers`, where consumers of old write.
    """
    if not is_secure or path == "/consumers":
        return OPEN_ACL
    return CREATOR_ONLY if path.startswith(_SENSITIVE) else READ_BY_ALL
