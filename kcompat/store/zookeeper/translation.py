"""Conversion of paths, operations, results and errors between the store's types and kazoo's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kazoo import exceptions as kazoo_errors
from kazoo.security import ACL, Id

from kcompat.store import interface
from kcompat.store.interface import (
    OPEN_ACL,
    Access,
    Create,
    Delete,
    SetData,
    Stat,
    TransactionTooLargeError,
    check_path,
)
from kcompat.store.zookeeper.multi_read import send_multi_read
from kcompat.store.zookeeper.settings import AUTH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.store.interface import Acl, Op, OpResult
    from kcompat.store.zookeeper.connection import Send

ALL, READ = 31, 1

CREATOR_ONLY: Acl = (Access(ALL, "auth", ""),)
"""Access control list that gives all permissions to the identities of the session that creates the node."""

READ_BY_ALL: Acl = (*CREATOR_ONLY, Access(READ, "world", "anyone"))

_SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token/tokens")
"""Prefixes of the paths of nodes that hold secrets."""

MOST_BYTES = 1_000_000
"""Bytes of the largest transaction.

ZooKeeper closes a connection on which a request has more than `jute.maxbuffer` bytes (1 MiB less 1 byte).
"""

_ERRORS = {
    kazoo_errors.NoNodeError: interface.NoNodeError,
    kazoo_errors.NodeExistsError: interface.NodeExistsError,
    kazoo_errors.BadVersionError: interface.BadVersionError,
    kazoo_errors.NotEmptyError: interface.NotEmptyError,
    kazoo_errors.NoChildrenForEphemeralsError: interface.NoChildrenForEphemeralsError,
    kazoo_errors.NoAuthError: interface.AccessDeniedError,
    kazoo_errors.InvalidACLError: interface.AccessDeniedError,
}
_CREDENTIALS = f"{AUTH_VARIABLE}=digest:USER:PASSWORD or the key in zookeeper.ssl.keystore.location"
_BE_ITS_OWNER = (
    f"which belongs to others: log in as its owner, by {_CREDENTIALS}, or, if that is known by SASL, which "
    "kcompat does not speak, open the nodes with Kafka's zookeeper-security-migration.sh "
    "--zookeeper.acl=unsecure"
)
_LOG_IN = (
    "ZooKeeper closes sessions that do not log in as it demands, and kcompat does not speak SASL: have its "
    f"enforce.auth.schemes allow digest or x509 as well, and set {_CREDENTIALS}"
)
_OF_OTHERS = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)
"""Errors that kazoo returns for an operation when another operation of the same transaction failed."""


class Translation:
    """Conversion of requests to kazoo and of its results, for one chroot and one rule for access control
    lists.

    Most methods return a function that sends a request with a kazoo client.
    """

    def __init__(self, chroot: str, *, is_secure: bool) -> None:
        self._chroot = chroot
        self._is_secure = is_secure

    def full_path(self, path: str) -> str:
        """Return the path in ZooKeeper, which includes the chroot, of a path in the store."""
        return f"{self._chroot}{path}".rstrip("/") or "/"

    def get(self, path: str) -> Send:
        """Return the request for a node's data."""
        full = self.full_path(path)
        return lambda client: client.get_async(full)

    def get_many(self, paths: Sequence[str]) -> Send:
        """Return the request for the data of several nodes, which servers before 3.6 do not support."""
        full = [self.full_path(path) for path in paths]
        return lambda client: send_multi_read(client, full)

    def exists(self, path: str) -> Send:
        """Return the request for a node's Stat."""
        full = self.full_path(path)
        return lambda client: client.exists_async(full)

    def children(self, path: str) -> Send:
        """Return the request for the names of a node's children."""
        full = self.full_path(path)
        return lambda client: client.get_children_async(full)

    def sync(self) -> Send:
        """Return the request that makes the server catch up with the ensemble."""
        root = self.full_path("/")
        return lambda client: client.sync_async(root)

    def create_chroot(self) -> list[Send]:
        """Return the requests that create the nodes of the chroot path, from the top."""
        names = self._chroot.split("/")[1:]
        paths = ["/" + "/".join(names[: depth + 1]) for depth in range(len(names))]
        return [self._create_above(path) for path in paths]

    def _create_above(self, path: str) -> Send:
        acl = kazoo_acl(default_acl(path, is_secure=self._is_secure))
        return lambda client: client.create_async(path, b"", acl)

    def transaction(self, ops: Sequence[Op]) -> Send:
        """Return the request that runs these operations as one transaction. Raises ValueError,
        `TransactionTooLargeError`.
        """
        size = 0
        for op in ops:
            if isinstance(op, Create | Delete):
                check_path(op.path)
            size += 100 + len(self._chroot) + len(op.path.encode())
            size += len(op.data or b"") if isinstance(op, Create | SetData) else 0
        if size > MOST_BYTES:
            raise TransactionTooLargeError(f"a transaction of {size} bytes is more than ZooKeeper takes")

        def send(client: Any) -> Any:
            transaction = client.transaction()
            for op in ops:
                self._add(op, transaction)
            return transaction.commit_async()

        return send

    def _add(self, op: Op, transaction: Any) -> None:
        path = self.full_path(op.path)
        match op:
            case Create():
                acl = op.acl or default_acl(op.path, is_secure=self._is_secure)
                transaction.create(path, op.data or b"", kazoo_acl(acl), op.ephemeral, op.sequential)
            case SetData():
                transaction.set_data(path, op.data or b"", op.version)
            case Delete():
                transaction.delete(path, op.version)
            case _:
                transaction.check(path, op.version)

    def results(self, ops: Sequence[Op], answer: Sequence[Any]) -> list[OpResult]:
        """Return the results of the operations, or raise the error of the first one that failed."""
        for op, value in zip(ops, answer, strict=True):
            if isinstance(value, Exception) and not isinstance(value, _OF_OTHERS):
                raise our_error(value, op.path)
        return [self._result(op, value) for op, value in zip(ops, answer, strict=True)]

    def _result(self, op: Op, value: Any) -> OpResult:
        match op:
            case Create():
                return str(value)[len(self._chroot) :]
            case SetData():
                return stat(value)
            case _:
                return None

    def node(self, answer: Any) -> tuple[bytes, Stat]:
        """Return the data and Stat in kazoo's response; a node without data has b""."""
        data, found = answer
        return data or b"", stat(found)


def stat(found: Any) -> Stat:
    """Return kazoo's stat as a `Stat`."""
    return Stat(
        found.czxid,
        found.mzxid,
        found.ctime,
        found.mtime,
        found.version,
        found.cversion,
        found.ephemeralOwner,
        found.numChildren,
        found.pzxid,
        found.aversion,
    )


def kazoo_acl(acl: Acl) -> list[Any]:
    """Return an access control list in kazoo's form."""
    return [ACL(entry.permissions, Id(entry.scheme, entry.id)) for entry in acl]


def our_error(error: BaseException, path: str) -> BaseException:
    """Return the store's error for one of kazoo's errors; `StoreUnavailableError` if there is no other
    counterpart.
    """
    if not isinstance(error, kazoo_errors.KazooException):
        return error
    if isinstance(error, kazoo_errors.SessionClosedRequireSaslError):
        return interface.StoreUnavailableError(_LOG_IN)
    kind = _ERRORS.get(type(error))
    if kind is None:
        return interface.StoreUnavailableError(f"ZooKeeper failed {path}: {error!r}")
    if kind is interface.AccessDeniedError:
        return kind(f"ZooKeeper does not let this broker use {path}, {_BE_ITS_OWNER}")
    return kind(f"{path}: {type(error).__name__}")


def default_acl(path: str, *, is_secure: bool) -> Acl:
    """Return the access control list of a new node.

    Unless `is_secure` (`zookeeper.set.acl`), every client has all permissions. The same holds for
    `/consumers` in any case, as old consumers write there.
    """
    if not is_secure or path == "/consumers":
        return OPEN_ACL
    return CREATOR_ONLY if path.startswith(_SENSITIVE) else READ_BY_ALL
