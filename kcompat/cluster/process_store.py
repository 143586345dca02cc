"""The metadata store of the brokers of one process: a tree in memory, each transaction durable before it is
seen.

`ProcessStore` holds the tree and its journal; `ProcessStore.session()` gives each broker its own
`MetadataStore`. Sessions end when they are closed or made to expire, or when the process ends: opening the
store again removes the ephemeral nodes it finds.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Protocol

from kcompat.cluster.process_session import ProcessSession
from kcompat.cluster.store import Delete
from kcompat.cluster.tree import Transaction, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.store import Op, OpResult, SetAcl
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
        self._sessions: list[ProcessSession] = []
        self._left_over = self._tree.ephemerals()

    @classmethod
    def in_memory(cls, wall_ms: Callable[[], int]) -> ProcessStore:
        """A store that is forgotten with the process."""
        return cls(_MemoryJournal(), wall_ms)

    @property
    def tree(self) -> Tree:
        """The nodes, to be read only."""
        return self._tree

    async def session(self) -> ProcessSession:
        """A new session. The first one removes the ephemeral nodes that a previous process left."""
        left_over, self._left_over = self._left_over, []
        if left_over:
            await self.commit(0, [Delete(path) for path in left_over])
        session = ProcessSession(self, next(self._session_ids))
        self._sessions.append(session)
        return session

    def admit(self, session: ProcessSession) -> int:
        """Take up a session again that has ended; its new id."""
        self._sessions.append(session)
        return next(self._session_ids)

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        """Run `ops` as one transaction of a session: checked, made durable, applied, reported.

        A caller that is cancelled stops waiting; the transaction still runs to its end, as tree and journal
        must agree.
        """
        return await asyncio.shield(asyncio.ensure_future(self._commit(session_id, ops)))

    async def _commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
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

    async def end(self, session: ProcessSession) -> None:
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
