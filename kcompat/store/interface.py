"""The metadata store: ZooKeeper's semantics as one interface, whatever is behind it.

Paths name nodes with data, a version and children. A node is persistent or ephemeral (it goes with the
session that made it). Every change is a transaction with an id, `zxid`; a node's `czxid` is the id that
created it, which Kafka uses as the broker epoch, so ids increase strictly, across restarts too. What a call
has answered survives a crash.

A session is what ephemeral nodes and watches hang on. It may be cut off from the store for a while, and it
ends when it is closed or has been cut off for too long. `MetadataStore` says how each is told.

Back ends: `kcompat.store.process_store` (SQLite or memory, for the brokers of one process) and
`kcompat.store.zookeeper` (a ZooKeeper ensemble).
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANY_VERSION = -1
"""Expected version that matches every version."""


class StoreError(Exception):
    """The store refused a call, which then has changed nothing; or what it holds does not let us go on."""


class NoNodeError(StoreError):
    """The path, or the parent of a path to create, does not exist."""


class NodeExistsError(StoreError):
    """The path to create exists."""


class BadVersionError(StoreError):
    """The node has another version than the caller expected."""


class NotEmptyError(StoreError):
    """The node to delete has children."""


class NoChildrenForEphemeralsError(StoreError):
    """The parent of the path to create is ephemeral."""


class SessionExpiredError(StoreError):
    """The session has ended, and its ephemeral nodes with it."""


class UnknownOutcomeError(StoreError):
    """The connection broke before the answer came, and what the store holds now does not tell whether the
    change was made. Who wanted it reads the state anew and decides again.
    """


class TransactionTooLargeError(StoreError):
    """The operations have more bytes than the store takes at once."""


class AccessDeniedError(StoreError):
    """The node's access control list does not let this session do that."""


class StoreUnavailableError(StoreError):
    """The store cannot be opened or written: not found, corrupt, in use, from a newer version, disk full."""


class Stat(Struct, frozen=True, gc=False):
    """A node without its data: transaction ids, times in ms since the epoch, versions, the owning session (0:
    none).
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
    """The transaction that last changed the list of children; czxid where there never was one."""
    aversion: int = 0
    """Number of times that the access control list was replaced."""


class Access(Struct, frozen=True, gc=False):
    """One entry of an access control list: `permissions` as ZooKeeper's bits (1 read, 2 write, 4 create, 8
    delete, 16 admin) for whoever `scheme` knows as `id`.
    """

    permissions: int
    scheme: str
    id: str


Acl = tuple[Access, ...]

OPEN_ACL: Acl = (Access(31, "world", "anyone"),)
"""Access control list that allows everything to everyone."""


class Create(Struct, frozen=True, gc=False):
    """Make a node of version 0. A sequential one gets a ten-digit number after its name, larger than any
    before. Without an `acl` it gets the one that the store gives to nodes of this path.
    """

    path: str
    data: bytes | None = b""
    """None is ZooKeeper's null, which reads as b"" here and is told apart by its own clients alone."""
    ephemeral: bool = False
    sequential: bool = False
    acl: Acl | None = None


class SetData(Struct, frozen=True, gc=False):
    """Replace a node's data and add one to its version."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class SetAcl(Struct, frozen=True, gc=False):
    """Replace a node's access control list; `version` is the expected `aversion`."""

    path: str
    acl: Acl
    version: int = ANY_VERSION


class Delete(Struct, frozen=True, gc=False):
    """Remove a node that has no children."""

    path: str
    version: int = ANY_VERSION


class Check(Struct, frozen=True, gc=False):
    """Change nothing; fail the transaction unless the node has this version."""

    path: str
    version: int


Op = Create | SetData | Delete | Check
OpResult = str | Stat | None
"""Result of an operation: the path made for Create, the new Stat for SetData, None for the others."""


class EventType(IntEnum):
    """Kinds of changes of a watched node; the codes are ZooKeeper's."""

    MISSED = -1
    """The session was disconnected or renewed: changes meanwhile were not reported."""
    CREATED = 1
    DELETED = 2
    CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchEvent(Struct, frozen=True, gc=False):
    """One change of a watched node."""

    type: EventType
    path: str


class SessionState(Enum):
    """States of a session with the store."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """Disconnected. The store may end the session before this side knows. Calls wait for the next state."""
    EXPIRED = "expired"
    """Ended: its ephemeral nodes are gone, and every call fails until `MetadataStore.renew`."""


class Watch(Protocol):
    """A persistent watch, which can be cancelled."""

    def cancel(self) -> None:
        """Report nothing more; harmless when repeated."""


class MetadataStore(Protocol):
    """One session with the store, and those that take its place.

    Changes are made in the order they are asked for. Every call raises `SessionExpiredError` once the session
    has ended; what was asked before and not answered may have been done. A call that changes something raises
    `UnknownOutcomeError` where a broken connection leaves open whether it did.
    """

    @property
    def session_id(self) -> int:
        """The id that this session's ephemeral nodes carry; never 0, and another after `renew`."""

    @property
    def state(self) -> SessionState:
        """State of the session as last reported."""

    @property
    def last_zxid(self) -> int:
        """The id of the last transaction in the store when it last answered a call of this session."""

    def subscribe(self, listener: Callable[[SessionState], object]) -> Watch:
        """Report every later state, in order and before any call that it lets go on is answered."""

    async def renew(self) -> None:
        """Take up a new session after the end of the last one. Watches go on and report `MISSED`."""

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Data and Stat of a node, or `NoNodeError`."""

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Data and Stat of each node, None where there is none. Requests do not wait for each other, and what
        other sessions change meanwhile may be seen in some of the answers.
        """

    async def exists(self, path: str) -> Stat | None:
        """The Stat of a node, None where there is none."""

    async def children(self, path: str) -> list[str]:
        """Names of a node's children in ascending order, or `NoNodeError`."""

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Make a node under an existing parent and answer its path (see `Create`)."""

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data; `BadVersionError` unless it has the expected version."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node without children; `BadVersionError` unless it has the expected version."""

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """All of `ops` in order as one transaction, or none of them and the error of the first that fails."""

    def watch(self, path: str, listener: Callable[[WatchEvent], object]) -> Watch:
        """Report every later change of this node and of the list of its children, in order.

        The node need not exist. What is read after this call and what the watch reports leave no gap: a
        change is seen in the one or told by the other. A watch is a hint: several changes may be told as one,
        and who needs the state reads it again. Once a session that was cut off is back, and after `renew`,
        each watch reports `MISSED`.
        """

    async def close(self) -> None:
        """End the session for good: its ephemeral nodes go, its watches fall silent."""


class Sessions(Protocol):
    """The store as a whole, which gives brokers their sessions."""

    is_own: bool
    """Whether the store lies beside the logs of its one broker; if new, it then adopts the topics in them."""

    async def session(self) -> MetadataStore:
        """A new session. Raises `StoreUnavailableError` where the store does not answer in time."""

    async def close(self) -> None:
        """End every session, and release what they needed."""


def check_path(path: str) -> None:
    """Raise ValueError unless a node of this path can be made or removed."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise ValueError(f"not a path of a node to create or delete: {path!r}")


def parent_of(path: str) -> str:
    """The path one level up; "/" for a top-level path."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """The last part of a path."""
    return path[path.rindex("/") + 1 :]
