"""The requests of one session with ZooKeeper: sent in order, with a limited number at a time, and kept when a
connection is lost.

Requests made without a connection wait for one. A read whose response was lost is sent again. A transaction
whose response was lost may have been made: after the next connection, the content of the store decides
(`outcome`), and the transaction is sent again if it was not made. Until that is settled no other request is
sent, so that transactions are made in the order of their calls.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from kazoo.exceptions import ConnectionLoss, NoNodeError

from kcompat.store.interface import (
    SessionExpiredError,
    StoreUnavailableError,
    UnknownOutcomeError,
    name_of,
    parent_of,
)
from kcompat.store.zookeeper import outcome
from kcompat.store.zookeeper.connection import is_end
from kcompat.store.zookeeper.outcome import Found, Made, Sent, TransactionVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.store.interface import Op, OpResult, Stat
    from kcompat.store.zookeeper.connection import EnsembleConnection, Send
    from kcompat.store.zookeeper.translation import Translation

MOST_LOSSES = 5
"""Number of lost connections after which a transaction fails, as the servers evidently do not accept it."""


_ENDED = "the session with ZooKeeper has ended"


class _Request:
    """A request to ZooKeeper without a response yet."""

    def __init__(self, send: Send, ops: Sequence[Op] | None = None) -> None:
        """Make a request. `ops` are the operations of a transaction, None for a read."""
        self.send = send
        self.ops = ops
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.seen = 0
        self.losses = 0


class PendingRequests:
    """The requests of one session, in order, across lost connections."""

    def __init__(self, connection: EnsembleConnection, translation: Translation, most_in_flight: int) -> None:
        self._connection = connection
        self._translation = translation
        self._most_in_flight = most_in_flight
        self._in_flight = 0
        self._waiting: deque[_Request] = deque()
        self._lost: list[_Request] = []
        self._is_open = False
        self._recovery: asyncio.Task[None] | None = None

    def read(self, send: Send) -> asyncio.Future[Any]:
        """Send a read; the future yields its response. Raises kazoo's errors."""
        return self._ask(_Request(send))

    async def transact(self, ops: Sequence[Op]) -> list[OpResult]:
        """Send a transaction and return its results. Raises the store's errors and kazoo's."""
        answer = await self._ask(_Request(self._translation.transaction(ops), ops))
        return answer.results if isinstance(answer, Made) else self._translation.results(ops, answer)

    def open(self) -> None:
        """Send the waiting requests after a connection was made."""
        if self._lost:
            self._recovery = asyncio.create_task(self._recover(), name="zookeeper-recovery")
        else:
            self._is_open = True
            self._let_out()

    def suspend(self) -> None:
        """Hold requests back after the connection was lost."""
        self._is_open = False
        if self._recovery is not None:
            self._recovery.cancel()
            self._recovery = None

    def end(self) -> None:
        """Fail every request after the session has ended."""
        self.suspend()
        left = [*self._lost, *self._waiting]
        self._lost.clear()
        self._waiting.clear()
        for request in left:
            _fail(request, SessionExpiredError(_ENDED))

    def _ask(self, request: _Request) -> asyncio.Future[Any]:
        self._waiting.append(request)
        self._let_out()
        return request.answer

    def _let_out(self) -> None:
        while self._is_open and self._waiting and self._in_flight < self._most_in_flight:
            request = self._waiting.popleft()
            if not request.answer.cancelled():
                self._send(request)

    def _send(self, request: _Request) -> None:
        self._in_flight += 1
        request.seen = self._connection.last_zxid
        self._connection.request(request.send, lambda value, error: self._answered(request, value, error))

    def _answered(self, request: _Request, value: Any, error: BaseException | None) -> None:
        self._in_flight -= 1
        if error is None:
            if not request.answer.done():
                request.answer.set_result(value)
        elif isinstance(error, ConnectionLoss):
            self._is_open = False  # the change of state follows
            request.losses += 1
            self._lost.append(request)
            return
        elif is_end(error):
            _fail(request, SessionExpiredError(_ENDED))
        else:
            _fail(request, error)
        self._let_out()

    # -- recovery after a lost connection ----------------------------------------------------------------

    async def _recover(self) -> None:
        """Settle the requests whose responses were lost, in order, then send the waiting ones."""
        try:
            for request in tuple(self._lost):
                if request.ops is not None:
                    await self._settle(request, request.ops)
                    self._lost.remove(request)
        except ConnectionLoss:
            return  # the next connection starts another recovery
        reads, self._lost = self._lost, []
        self._waiting.extendleft(reversed(reads))
        self._is_open = True
        self._recovery = None
        self._let_out()

    async def _settle(self, request: _Request, ops: Sequence[Op]) -> None:
        """Find out whether a transaction without a response was made, and send it again if it was not."""
        if request.answer.done():
            return  # the caller no longer waits
        try:
            answer = await self._judged(request, ops)
        except ConnectionLoss:
            raise
        except Exception as error:
            _fail(request, SessionExpiredError(_ENDED) if is_end(error) else error)
        else:
            if not request.answer.done():
                request.answer.set_result(answer)

    async def _judged(self, request: _Request, ops: Sequence[Op]) -> Any:
        """Judge a transaction whose response was lost; return or raise the value for `_Request.answer`."""
        found = await self._find(ops)
        judgement = outcome.judge(Sent(ops, request.seen, self._connection.session_id), found)
        if isinstance(judgement, Made):
            for later in self._lost:  # a session's transactions are made in their order
                later.seen = max(later.seen, judgement.zxid)
            return judgement
        if judgement is TransactionVerdict.UNKNOWN:
            what = ", ".join(sorted({op.path for op in ops})[:5])
            raise UnknownOutcomeError(
                f"the connection to ZooKeeper broke before it answered whether it changed {what}"
            )
        if request.losses >= MOST_LOSSES:
            raise StoreUnavailableError(
                f"ZooKeeper broke {request.losses} connections instead of answering a transaction"
            )
        request.seen = self._connection.last_zxid
        request.losses += 1  # counted before the response, which may be lost again
        return await self._at_once(request.send)

    async def _find(self, ops: Sequence[Op]) -> Found:
        """Wait until the server has caught up with the ensemble, and read the nodes of these operations."""
        await self._at_once(self._translation.sync())
        paths = outcome.paths_to_read(ops)
        nodes = dict(zip(paths, await self._nodes(paths), strict=True))
        numbered: dict[str, dict[str, tuple[bytes, Stat]]] = {}
        for path in outcome.sequential_paths(ops):
            parent, numbers = parent_of(path), re.compile(re.escape(name_of(path)) + r"\d{10}")
            names = await self._children(parent)
            found = [f"{parent}/{name}" for name in sorted(names) if numbers.fullmatch(name)]
            read = zip(found, await self._nodes(found), strict=True)
            numbered[path] = {child: node for child, node in read if node is not None}
        return Found(nodes, numbered)

    async def _nodes(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        return [await self._node(path) for path in paths]

    async def _node(self, path: str) -> tuple[bytes, Stat] | None:
        try:
            return self._translation.node(await self._at_once(self._translation.get(path)))
        except NoNodeError:
            return None

    async def _children(self, path: str) -> list[str]:
        try:
            return list(await self._at_once(self._translation.children(path)))
        except NoNodeError:
            return []

    async def _at_once(self, send: Send) -> Any:
        """Send a request ahead of all waiting ones, and return its response."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answered(value: Any, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)

        self._connection.request(send, answered)
        return await answer


def _fail(request: _Request, error: BaseException) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
