"""The metadata store: ZooKeeper's semantics as one interface, whatever is behind it.

Paths name nodes with data, a version and children. A node is persistent or ephemeral (it goes with the
session that made it). Every change is a transaction with an id, `zxid`; a node's `czxid` is the id that
created it, which Kafka uses as the broker epoch, so ids increase strictly, across restarts too. What a call
has answered survives a crash.

Back ends: `kcompat.cluster.process_store` (SQLite or memory, for the brokers of one process).
A back end for a ZooKeeper ensemble would stand beside it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANY_VERSION = -1
"""An expected version that every node has."""


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


class Create(Struct, frozen=True, gc=False):
    """Make a node of version 0. A sequential one gets a ten-digit number after its name, larger than any
    before.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class SetData(Struct, frozen=True, gc=False):
    """Replace a node's data and add one to its version."""

    path: str
    data: bytes
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
"""What an operation answers: Create the path made, SetData the new Stat, the others None."""


class EventType(IntEnum):
    """What happened to a watched node; the codes are ZooKeeper's."""

    CREATED = 1
    DELETED = 2
    CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchEvent(Struct, frozen=True, gc=False):
    """One change of a watched node."""

    type: EventType
    path: str


class Watch(Protocol):
    """A persistent watch that can be taken back."""

    def cancel(self) -> None:
        """Report nothing more; harmless when repeated."""


class MetadataStore(Protocol):
    """One session with the store. Every call raises `SessionExpiredError` once the session has ended."""

    @property
    def session_id(self) -> int:
        """The id that this session's ephemeral nodes carry; never 0."""

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Data and Stat of a node, or `NoNodeError`."""

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
        """Report every later change of this node and of the list of its children, in the order they happened.

        The node need not exist. A watch is a hint: who needs the state reads it again.
        """

    async def close(self) -> None:
        """End the session: its ephemeral nodes go, its watches fall silent."""


def parent_of(path: str) -> str:
    """The path one level up; "/" for a top-level path."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """The last part of a path."""
    return path[path.rindex("/") + 1 :]
