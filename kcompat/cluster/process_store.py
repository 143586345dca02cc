"""The metadata store of the brokers of one process: a tree in memory, each transaction durable before it is
seen.

`ProcessStore` holds the tree and its journal; `ProcessStore.session()` gives each broker its own
`MetadataStore`. Sessions end when closed or when the process ends: opening the store again removes the
ephemeral nodes it finds.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Protocol

from kcompat.cluster.store import (
    ANY_VERSION,
    Create,
    Delete,
    SessionExpiredError,
    SetData,
    Stat,
)
from kcompat.cluster.tree import Transaction, Tree
from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.store import Op, OpResult, WatchEvent
    from kcompat.cluster.tree import Node


class Journal(Protocol):
    """Where transactions become durable."""

    def load(self) -> Tree:
        """The tree as last written; `StoreUnavailableError` says why it cannot be read."""

    async def write(self, zxid: int, staged: dict[str, Node | None]) -> None:
        """Make one transaction durable, or raise `StoreUnavailableError` and leave the journal as it was."""

    def close(self) -> None:
        """Release the files."""


class _MemoryJournal:
    """Nothing outlives the process."""

    def load(self) -> Tree:
        return Tree()

    async def write(self, zxid: int, staged: dict[str, Node | None]) -> None:  # noqa: ARG002
        return

    def close(self) -> None:
        return


class ProcessStore:
    """The tree that the sessions of this process share. All calls belong to one event loop."""

    def __init__(self, journal: Journal, wall_ms: Callable[[], int]) -> None:
        """Load the tree, or close the journal and raise why not; `wall_ms` gives ms since the epoch."""
        self._journal = journal
        self._wall_ms = wall_ms
        try:
            self._tree = journal.load()
        except BaseException:
            journal.close()
            raise
        self._writing = asyncio.Lock()
        self._session_ids = itertools.count(1)
        self._sessions: list[_Session] = []
        self._left_over = self._tree.ephemerals()

    @classmethod
    def in_memory(cls, wall_ms: Callable[[], int]) -> ProcessStore:
        """A store that is forgotten with the process."""
        return cls(_MemoryJournal(), wall_ms)

    @property
    def tree(self) -> Tree:
        """The nodes, to be read only."""
        return self._tree

    async def session(self) -> _Session:
        """A new session. The first one removes the ephemeral nodes that a previous process left."""
        left_over, self._left_over = self._left_over, []
        if left_over:
            await self.commit(0, [Delete(path) for path in left_over])
        session = _Session(self, next(self._session_ids))
        self._sessions.append(session)
        return session

    async def commit(self, session_id: int, ops: Sequence[Op]) -> list[OpResult]:
        """Run `ops` as one transaction of a session: checked, made durable, applied, reported.

        A caller that is cancelled stops waiting; the transaction still runs to its end, as tree and journal
        must agree.
        """
        return await asyncio.shield(asyncio.ensure_future(self._commit(session_id, ops)))

    async def _commit(self, session_id: int, ops: Sequence[Op]) -> list[OpResult]:
        async with self._writing:
            transaction = Transaction(self._tree, session_id, self._wall_ms())
            results = [transaction.run(op) for op in ops]
            if transaction.staged:
                await self._journal.write(transaction.zxid, transaction.staged)
                transaction.apply()
        for event in transaction.events:
            for session in tuple(self._sessions):
                session.report(event)
        return results

    async def end(self, session: _Session) -> None:
        """Remove a session and its ephemeral nodes."""
        if session in self._sessions:
            self._sessions.remove(session)
            ephemerals = self._tree.ephemerals(session.session_id)
            if ephemerals:
                await self.commit(session.session_id, [Delete(path) for path in ephemerals])

    async def close(self) -> None:
        """End every session and release the files."""
        for session in tuple(self._sessions):
            await session.close()
        self._journal.close()


class _Session:
    """One broker's `MetadataStore`."""

    def __init__(self, store: ProcessStore, session_id: int) -> None:
        self._store = store
        self._session_id = session_id
        self._watches: dict[str, list[_Watch]] = {}
        self._open = True

    @property
    def session_id(self) -> int:
        return self._session_id

    async def get(self, path: str) -> tuple[bytes, Stat]:
        node = self._tree().get(path)
        return node.data, node.stat()

    async def exists(self, path: str) -> Stat | None:
        node = self._tree().nodes.get(path)
        return None if node is None else node.stat()

    async def children(self, path: str) -> list[str]:
        return sorted(self._tree().get(path).children)

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        (made,) = await self.multi([Create(path, data, ephemeral, sequential)])
        assert isinstance(made, str)
        return made

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        (stat,) = await self.multi([SetData(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        self._tree()
        return await self._store.commit(self._session_id, ops)

    def watch(self, path: str, listener: Callable[[WatchEvent], object]) -> _Watch:
        self._tree()
        watch = _Watch(self._watches, path, listener)
        self._watches.setdefault(path, []).append(watch)
        return watch

    def report(self, event: WatchEvent) -> None:
        for watch in tuple(self._watches.get(event.path, ())):
            with contained("a watch of the metadata store"):
                watch.listener(event)

    async def close(self) -> None:
        if self._open:
            self._open = False
            self._watches.clear()
            await self._store.end(self)

    def _tree(self) -> Tree:
        if not self._open:
            raise SessionExpiredError(f"session {self._session_id} of the metadata store has ended")
        return self._store.tree


class _Watch:
    """A listener on one path of one session."""

    __slots__ = ("_path", "_watches", "listener")

    def __init__(
        self, watches: dict[str, list[_Watch]], path: str, listener: Callable[[WatchEvent], object]
    ) -> None:
        self._watches = watches
        self._path = path
        self.listener = listener

    def cancel(self) -> None:
        watches = self._watches.get(self._path, [])
        if self in watches:
            watches.remove(self)
            if not watches:
                del self._watches[self._path]
