"""The metadata store of the brokers of one process: a tree in memory, whose transactions become durable
before readers see them.

`ProcessStore` holds the tree and its journal; `ProcessStore.session()` gives each broker its own
`MetadataStore`. Sessions end when they are closed or made to expire, or when the process ends: when the store
is opened again, it removes the ephemeral nodes of earlier sessions. The journal also keeps the sessions of
network clients, which outlive the process if the ZooKeeper server takes them over (`take_over_sessions`).

Transactions that are submitted while the journal is busy become durable together, with one wait for the disk.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kcompat.store.process_session import ProcessSession
from kcompat.store.subscribers import Subscribers
from kcompat.store.tree import Staged, Tree, TreeTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.store.interface import Op, OpResult, SetAcl, Watch
    from kcompat.store.tree import NodeChange, StoredNode, StoredSession

T = TypeVar("T")

MOST_TOGETHER = 64
"""Maximum number of transactions that share one wait for the disk; more would block the event loop for too
long.
"""


class Journal(Protocol):
    """The port that makes transactions durable."""

    def load(self) -> Tree:
        """Return the tree as last written. Raises StoreUnavailableError if it cannot be read."""

    async def write(self, zxid: int, staged: Staged) -> None:
        """Make `staged`, the changes of the transactions up to `zxid`, durable.

        Raises StoreUnavailableError if that fails; the journal is then as it was.
        """

    def close(self) -> None:
        """Close the files."""


class _MemoryJournal:
    """A journal that writes nothing, so that the store is lost with the process."""

    def load(self) -> Tree:
        return Tree()

    async def write(self, zxid: int, staged: Staged) -> None:  # noqa: ARG002
        return

    def close(self) -> None:
        return


class _Waiting:
    """A transaction that waits for the journal."""

    __slots__ = ("_future", "session_id", "work")

    def __init__(
        self, session_id: int, work: Callable[[TreeTransaction], Any], future: asyncio.Future[tuple[int, Any]]
    ) -> None:
        self.session_id = session_id
        self.work = work
        self._future = future

    def succeed(self, zxid: int, result: object) -> None:
        """Complete the caller's future, unless it was cancelled."""
        if not self._future.done():
            self._future.set_result((zxid, result))

    def fail(self, error: Exception) -> None:
        """Fail the caller's future with an error, unless it was cancelled."""
        if not self._future.done():
            self._future.set_exception(error)


class ProcessStore:
    """The tree that the sessions of this process share. All calls belong to one event loop."""

    is_own = True

    def __init__(self, journal: Journal, wall_ms: Callable[[], int]) -> None:
        """Load the tree; if that fails, close the journal and raise its error.

        `wall_ms` returns the wall-clock time in ms since the Unix epoch.
        """
        self._journal = journal
        self._wall_ms = wall_ms
        try:
            self._tree = journal.load()
        except BaseException:
            journal.close()
            raise
        self._waiting: deque[_Waiting] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._listeners: Subscribers[None, NodeChange] = Subscribers("a listener to the metadata store")
        self._session_ids = itertools.count(1)
        self._sessions: list[ProcessSession] = []
        self._left_over = {self._tree.nodes[path].ephemeral_owner for path in self._tree.ephemerals()}
        self._left_over |= self._tree.sessions.keys()

    @classmethod
    def in_memory(cls, wall_ms: Callable[[], int]) -> ProcessStore:
        """Return a store without a journal, lost with the process."""
        return cls(_MemoryJournal(), wall_ms)

    @property
    def tree(self) -> Tree:
        """The tree of all nodes; callers must not change it."""
        return self._tree

    def take_over_sessions(self) -> Mapping[int, StoredSession]:
        """Return the stored sessions of network clients; the caller is responsible for ending them. Call this
        before the first `session`.
        """
        self._left_over -= self._tree.sessions.keys()
        return self._tree.sessions

    def subscribe(self, listener: Callable[[NodeChange], object]) -> Watch:
        """Call `listener` with every change once it is durable, before the call that made it returns."""
        return self._listeners.add(None, listener)

    async def session(self) -> ProcessSession:
        """Open a session.

        The first call ends the sessions left by a previous process, unless they were taken over.
        """
        left_over, self._left_over = self._left_over, set()
        if left_over:
            await self.transact(0, lambda transaction: transaction.end_sessions(left_over))
        session = ProcessSession(self, next(self._session_ids))
        self._sessions.append(session)
        return session

    def admit(self, session: ProcessSession) -> int:
        """Reopen a session that has ended, and return its new id."""
        self._sessions.append(session)
        return next(self._session_ids)

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        """Run `ops` as one transaction of a session (see `transact`), and return their results."""
        _, results = await self.transact(session_id, lambda transaction: [transaction.run(op) for op in ops])
        return results

    async def transact(self, session_id: int, work: Callable[[TreeTransaction], T]) -> tuple[int, T]:
        """Run `work` on one transaction of a session; return the transaction's id and the result of `work`.

        The transaction is checked, made durable, applied to the tree and reported to watches, in this order.
        An exception that `work` raises drops the transaction and is raised here.

        Transactions run in the order of these calls. A caller that is cancelled stops waiting; the
        transaction still runs to its end.
        """
        return await self.submit(session_id, work)

    def submit(self, session_id: int, work: Callable[[TreeTransaction], T]) -> asyncio.Future[tuple[int, T]]:
        """Queue a transaction; the future yields its id and the result of `work` once the transaction is
        durable.
        """
        future: asyncio.Future[tuple[int, T]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(session_id, work, future))
        if self._writer is None:
            self._writer = asyncio.ensure_future(self._write())
        return future

    async def _write(self) -> None:
        waiting = self._waiting
        try:
            while waiting:
                count = min(len(waiting), MOST_TOGETHER)
                await self._write_together([waiting.popleft() for _ in range(count)])
        finally:
            self._writer = None

    async def _write_together(self, group: Sequence[_Waiting]) -> None:
        staged = Staged.nothing()
        zxid = self._tree.zxid
        done: list[tuple[_Waiting, TreeTransaction | None, object]] = []
        for each in group:
            try:
                transaction = TreeTransaction(self._tree, each.session_id, self._wall_ms(), zxid + 1, staged)
                result = each.work(transaction)
            except Exception as error:
                # Fail the caller only after the earlier transactions, so that it finds the change that made
                # it fail in the tree.
                done.append((each, None, error))
                continue
            done.append((each, transaction, result))
            if transaction.staged:
                zxid += 1
                staged.add(transaction.staged)
        try:
            if staged:
                await self._journal.write(zxid, staged)
        except Exception as error:
            for each, _, _ in done:
                each.fail(error)
            return
        for each, made, outcome in done:
            if made is None:
                assert isinstance(outcome, Exception)
                each.fail(outcome)
                continue
            if made.staged:
                made.apply()
                self._report(made.changes)
            each.succeed(made.zxid if made.staged else self._tree.zxid, outcome)

    def _report(self, changes: Sequence[NodeChange]) -> None:
        for change in changes:
            for session in tuple(self._sessions):
                session.report(change.event)
            self._listeners.notify(None, change)

    async def end(self, session: ProcessSession) -> None:
        """Remove a session and its ephemeral nodes."""
        if session in self._sessions:
            self._sessions.remove(session)
            session_id = session.session_id
            await self.transact(session_id, lambda transaction: transaction.end_sessions({session_id}))

    async def rewind(self, session: ProcessSession, nodes: Mapping[str, StoredNode]) -> ProcessSession:
        """Replace all nodes of the tree by these, which it had at an earlier time; transaction ids continue
        to increase.

        Return a session with the id of `session`, which is closed, although its ephemeral nodes are those
        among `nodes`. Changes are not reported: the new session has no watches, and there must be no other.
        """
        assert self._sessions == [session], "a tree is rewound for one broker alone"
        session.retire()
        await self.transact(session.session_id, lambda transaction: transaction.rewind(nodes))
        successor = ProcessSession(self, session.session_id)
        self._sessions = [successor]
        return successor

    async def close(self) -> None:
        """End every session and release the files."""
        for session in tuple(self._sessions):
            await session.close()
        while self._writer is not None:
            await asyncio.wait([self._writer])
        self._journal.close()
