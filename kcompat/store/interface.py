"""The metadata store: one interface with ZooKeeper's semantics for all implementations.

Paths name nodes, which have data, a version and children. A node is persistent or ephemeral (removed with the
session that created it). Every change is a transaction with an id, `zxid`. A node's `czxid` is the id of the
transaction that created it; Kafka uses it as the broker epoch, so ids increase strictly, across restarts too.
Every change that a call has confirmed survives a crash.

Ephemeral nodes and watches belong to a session. A session may be disconnected from the store for a while. It
ends when it is closed or has been disconnected for too long. `MetadataStore` defines how callers learn of
both.

Implementations: `kcompat.store.process_store` (SQLite or memory, for the brokers of one process) and
`kcompat.store.zookeeper` (a ZooKeeper ensemble).
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANY_VERSION = -1
"""Expected version that matches every version of a node."""


class StoreError(Exception):
    """The store refused a call and changed nothing, or its content does not allow the broker to continue."""


class NoNodeError(StoreError):
    """The node, or the parent of a node to create, does not exist."""


class NodeExistsError(StoreError):
    """A node with the path to create exists already."""


class BadVersionError(StoreError):
    """The version of the node is not the version that the caller expected."""


class NotEmptyError(StoreError):
    """The node to delete has children."""


class NoChildrenForEphemeralsError(StoreError):
    """The parent of the node to create is ephemeral."""


class SessionExpiredError(StoreError):
    """The session has ended, and its ephemeral nodes are gone."""


class UnknownOutcomeError(StoreError):
    """The connection broke before the response came, and the content of the store does not show whether the
    change was made.

    The caller reads the current state and decides again.
    """


class TransactionTooLargeError(StoreError):
    """The operations of a transaction have more bytes than the store accepts."""


class AccessDeniedError(StoreError):
    """The node's access control list does not allow this session the operation."""


class StoreUnavailableError(StoreError):
    """The store cannot be opened or written: it is missing, corrupt, in use, from a newer version, or its
    disk is full.
    """


class Stat(Struct, frozen=True, gc=False):
    """The metadata of a node: transaction ids, times in ms since the epoch, versions, and the id of the
    owning session (0: none).
    """

    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    ephemeral_owner: int
    children: int
    pzxid: int
    """Id of the transaction that last changed the list of children; `czxid` if none has."""
    aversion: int = 0
    """Number of times that the access control list was replaced."""


class Access(Struct, frozen=True, gc=False):
    """One entry of an access control list: the permissions of the identity `id` in the authentication scheme
    `scheme`.

    `permissions` are ZooKeeper's bits: 1 read, 2 write, 4 create, 8 delete, 16 admin.
    """

    permissions: int
    scheme: str
    id: str


Acl = tuple[Access, ...]

OPEN_ACL: Acl = (Access(31, "world", "anyone"),)
"""Access control list that gives every client all permissions."""


class Create(Struct, frozen=True, gc=False):
    """Operation that creates a node of version 0.

    A sequential node gets a ten-digit number after its name, larger than all before. Without an `acl` the
    node gets the store's default list for its path.
    """

    path: str
    data: bytes | None = b""
    """Data of the node. None is ZooKeeper's null, which `MetadataStore.get` returns as b""; only ZooKeeper
    clients see the difference.
    """
    ephemeral: bool = False
    sequential: bool = False
    acl: Acl | None = None


class SetData(Struct, frozen=True, gc=False):
    """Operation that replaces a node's data and adds one to its version."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class SetAcl(Struct, frozen=True, gc=False):
    """Operation that replaces a node's access control list; `version` is the expected `aversion`."""

    path: str
    acl: Acl
    version: int = ANY_VERSION


class Delete(Struct, frozen=True, gc=False):
    """Operation that removes a node without children."""

    path: str
    version: int = ANY_VERSION


class Check(Struct, frozen=True, gc=False):
    """Operation that changes nothing, but fails the transaction unless the node has this version."""

    path: str
    version: int


Op = Create | SetData | Delete | Check
OpResult = str | Stat | None
"""Result of an operation: the created path for Create, the new Stat for SetData, None for the others."""


class EventType(IntEnum):
    """Kinds of changes of a watched node; the codes are ZooKeeper's."""

    MISSED = -1
    """The session was disconnected or renewed, and changes during that time were not reported."""
    CREATED = 1
    DELETED = 2
    CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchEvent(Struct, frozen=True, gc=False):
    """One change of a watched node, by its path."""

    type: EventType
    path: str


class SessionState(Enum):
    """States of a session, as this process knows them."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """The session is disconnected. The store may end it before this process learns of that. Calls wait for
    the next state.
    """
    EXPIRED = "expired"
    """The session has ended: its ephemeral nodes are gone, and every call fails until `MetadataStore.renew`.
    """


class Watch(Protocol):
    """A persistent watch or subscription, which can be cancelled."""

    def cancel(self) -> None:
        """Stop reporting; harmless when repeated."""


class MetadataStore(Protocol):
    """One session with the store, and the sessions that replace it after its end.

    Changes are made in the order of their calls. Every call raises `SessionExpiredError` once the session has
    ended; calls that were pending at that time may have taken effect. A call that changes the store raises
    `UnknownOutcomeError` if a broken connection leaves it unknown whether the change was made.
    """

    @property
    def session_id(self) -> int:
        """Id of the session, which owns its ephemeral nodes; never 0, and a new one after `renew`."""

    @property
    def state(self) -> SessionState:
        """State of the session as last reported."""

    @property
    def last_zxid(self) -> int:
        """Id of the last transaction in the store at the time of the latest response to this session."""

    def subscribe(self, listener: Callable[[SessionState], object]) -> Watch:
        """Call `listener` with every later state, in order, and before calls that waited for that state
        complete.
        """

    async def renew(self) -> None:
        """Open a new session after the end of the last one. Watches are kept and report `MISSED`."""

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Return the data and Stat of a node. Raises `NoNodeError`."""

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Return the data and Stat of each node, None for nodes that do not exist.

        The requests are concurrent, so changes by other sessions may be visible in some results and not in
        others.
        """

    async def exists(self, path: str) -> Stat | None:
        """Return the Stat of a node; None if it does not exist."""

    async def children(self, path: str) -> list[str]:
        """Return the names of a node's children in ascending order. Raises `NoNodeError`."""

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node under an existing parent and return its path (see `Create`)."""

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data. Raises `BadVersionError` unless the node has the expected version."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node without children. Raises `BadVersionError` unless it has the expected version."""

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Run all operations in order as one transaction. If one fails, make no change and raise the error of
        the first that failed.
        """

    def watch(self, path: str, listener: Callable[[WatchEvent], object]) -> Watch:
        """Call `listener` with every later change of a node and of the list of its children, in order.

        The node need not exist. A read that follows this call and the watch together miss no change. Several
        changes may be reported as one event, so a caller that needs the state reads it again. After a
        disconnected session is connected again, and after `renew`, each watch reports `MISSED`.
        """

    async def close(self) -> None:
        """End the session finally: its ephemeral nodes are removed, and its watches report nothing more."""


class Sessions(Protocol):
    """The store as a whole, which opens sessions for brokers."""

    is_own: bool
    """Whether the store belongs to one broker and lies beside its logs; a new store of this kind adopts the
    topics in the logs.
    """

    async def session(self) -> MetadataStore:
        """Open a session. Raises `StoreUnavailableError` if the store does not respond in time."""

    async def close(self) -> None:
        """End every session, and release the store's resources."""


def check_path(path: str) -> None:
    """Raise ValueError unless a node with this path can be created or removed."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise ValueError(f"not a path of a node to create or delete: {path!r}")


def parent_of(path: str) -> str:
    """Return the path of the parent; "/" for a top-level path."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path[path.rindex("/") + 1 :]
