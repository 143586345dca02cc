"""Session of one broker with a `ProcessStore`.

No connection between the session and the store can break. Sessions are suspended, resumed and ended by calls:
from a server that shares the store with other processes, or from a test.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from kcompat.store.interface import EventType, SessionExpiredError, SessionState, WatchEvent
from kcompat.store.session import Session
from kcompat.store.subscribers import Subscribers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.store.interface import Op, OpResult, Stat, Watch
    from kcompat.store.tree import StoredNode, Tree


class SharedTree(Protocol):
    """Tree that the sessions of a process share, with the methods that a session uses: a `ProcessStore`."""

    @property
    def tree(self) -> Tree:
        """The tree of all nodes; callers must not change it."""

    async def commit(self, session_id: int, ops: Sequence[Op]) -> list[OpResult]:
        """Run `ops` as one transaction of a session."""

    def admit(self, session: ProcessSession) -> int:
        """Reopen a session that has ended, and return its new id."""

    async def end(self, session: ProcessSession) -> None:
        """Remove a session and its ephemeral nodes."""

    async def rewind(self, session: ProcessSession, nodes: Mapping[str, StoredNode]) -> ProcessSession:
        """Replace all nodes by earlier ones, and return the successor of the session."""


class ProcessSession(Session):
    """One broker's `MetadataStore`."""

    def __init__(self, store: SharedTree, session_id: int) -> None:
        super().__init__(session_id, SessionState.CONNECTED)
        self._store = store
        self._watches: Subscribers[str, WatchEvent] = Subscribers("a watch of the metadata store")
        self._settled: asyncio.Future[None] | None = None
        """Future that calls wait for while the session is suspended; None otherwise."""
        self._is_closed = False
        self._has_lapsed = False

    @property
    def last_zxid(self) -> int:
        """Id of the last transaction in the store."""
        return self._store.tree.zxid

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Return the data and Stat of a node. Raises `NoNodeError`."""
        await self._ready()
        node = self._store.tree.get(path)
        return node.data or b"", node.stat()

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Return the data and Stat of each node, None for nodes that do not exist."""
        await self._ready()
        nodes = self._store.tree.nodes
        return [(node.data or b"", node.stat()) if (node := nodes.get(path)) else None for path in paths]

    async def exists(self, path: str) -> Stat | None:
        """Return the Stat of a node; None if it does not exist."""
        await self._ready()
        node = self._store.tree.nodes.get(path)
        return None if node is None else node.stat()

    async def children(self, path: str) -> list[str]:
        """Return the sorted names of a node's children. Raises `NoNodeError`."""
        await self._ready()
        return sorted(self._store.tree.get(path).children)

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Run `ops` as one transaction."""
        await self._ready()
        results = await self._store.commit(self._session_id, ops)
        await self._ready()  # a suspended session gets no response
        return results

    def watch(self, path: str, listener: Callable[[WatchEvent], object]) -> Watch:
        """Call `listener` with the changes of a node and of the names of its children."""
        self._insist()
        return self._watches.add(path, listener)

    def report(self, event: WatchEvent) -> None:
        """Report a change to the watches, unless the session is suspended."""
        if self._state is SessionState.CONNECTED:
            self._watches.notify(event.path, event)

    # -- changes of the session's state ------------------------------------------------------------------

    def suspend(self) -> None:
        """Suspend the session: its calls wait, and its watches report nothing."""
        if self._state is SessionState.CONNECTED:
            self._become(SessionState.SUSPENDED)

    def resume(self) -> None:
        """Resume the session. If it still exists, each of its watches reports `MISSED`; if it has ended, its
        state becomes expired.
        """
        if self._state is SessionState.SUSPENDED:
            if self._has_lapsed:
                self._has_lapsed = False
                self._become(SessionState.EXPIRED)
            else:
                self._take_up()

    async def lapse(self) -> None:
        """End the suspended session in the store, so that other sessions see its ephemeral nodes removed.

        The session itself learns of its end in `resume`.
        """
        assert self._state is SessionState.SUSPENDED, "a connected session is ended by `expire`"
        self._has_lapsed = True
        await self._store.end(self)

    async def expire(self) -> None:
        """End the session as the store does when the session timeout has passed."""
        if self._state is not SessionState.EXPIRED:
            self.suspend()
            await self._store.end(self)
            self._become(SessionState.EXPIRED)

    async def renew(self) -> None:
        """Open a new session after the end of the last one."""
        if self._is_closed:
            raise SessionExpiredError("the session with the metadata store was closed")
        if self._state is SessionState.EXPIRED:
            self._session_id = self._store.admit(self)
            self._take_up()

    async def close(self) -> None:
        """End the session for good."""
        if not self._is_closed:
            self.retire()
            await self._store.end(self)
            self._become(SessionState.EXPIRED)

    def nodes(self) -> dict[str, StoredNode]:
        """Return all nodes of the store by path; callers must not change them."""
        return dict(self._store.tree.nodes)

    async def rewind(self, nodes: Mapping[str, StoredNode]) -> ProcessSession:
        """Replace the nodes of the store by those that `nodes` returned earlier, and return a session with
        the same id; this session is closed. There must be no other session.
        """
        return await self._store.rewind(self, nodes)

    def retire(self) -> None:
        """Refuse all further calls; the store keeps the session."""
        self._is_closed = True
        self._watches.clear()
        self._listeners.clear()

    # -- states ------------------------------------------------------------------------------------------

    async def _ready(self) -> None:
        while self._state is SessionState.SUSPENDED and not self._is_closed:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        self._insist()

    def _insist(self) -> None:
        if self._is_closed or self._state is SessionState.EXPIRED:
            raise SessionExpiredError(f"session {self._session_id} of the metadata store has ended")

    def _take_up(self) -> None:
        self._become(SessionState.CONNECTED)
        for path in self._watches.watched():
            self._watches.notify(path, WatchEvent(EventType.MISSED, path))

    def _become(self, state: SessionState) -> None:
        self._state = state
        self._listeners.notify(None, state)
        if state is not SessionState.SUSPENDED and self._settled is not None:
            self._settled.set_result(None)
            self._settled = None
