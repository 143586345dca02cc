"""A ZooKeeper ensemble as the metadata store, and the sessions of brokers with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kazoo.exceptions import KazooException, NoAuthError, UnimplementedError
from kazoo.exceptions import NodeExistsError as KazooNodeExistsError
from kazoo.exceptions import NoNodeError as KazooNoNodeError

from kcompat.store.interface import (
    SessionExpiredError,
    SessionState,
    StoreUnavailableError,
)
from kcompat.store.session import Session
from kcompat.store.zookeeper.connection import EnsembleConnection
from kcompat.store.zookeeper.requests import PendingRequests
from kcompat.store.zookeeper.translation import Translation, our_error, stat
from kcompat.store.zookeeper.watches import Watches

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    from kcompat.store.interface import Op, OpResult, Stat, Watch, WatchEvent
    from kcompat.store.zookeeper.connection import Answered, Send
    from kcompat.store.zookeeper.settings import ZooKeeperSettings


READ_AT_ONCE = 500
"""Number of nodes read with one request."""


class ZooKeeper:
    """A ZooKeeper ensemble. All calls belong to one event loop."""

    is_own = False

    def __init__(self, settings: ZooKeeperSettings) -> None:
        """Check the settings. Raises `StoreUnavailableError` if the files for TLS cannot be used."""
        self._settings = settings
        self._tls = None if settings.tls is None else settings.tls.context()
        self._sessions: list[ZooKeeperSession] = []

    async def session(self) -> ZooKeeperSession:
        """Open a session, and create the chroot if it is missing. Raises `StoreUnavailableError`."""
        session = ZooKeeperSession(self._settings, self._tls)
        self._sessions.append(session)
        try:
            await session.connect()
            await session.make_chroot()
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        """End every session."""
        for session in self._sessions:
            await session.close()
        self._sessions.clear()


class ZooKeeperSession(Session):
    """One broker's `MetadataStore` on a ZooKeeper ensemble."""

    def __init__(self, settings: ZooKeeperSettings, tls: ssl.SSLContext | None) -> None:
        super().__init__(0, SessionState.SUSPENDED)
        self._settings = settings
        self._tls = tls
        self._translation = Translation(settings.chroot, is_secure=settings.set_acl)
        self._watches = Watches(self._send, self._translation.full_path)
        self._is_closed = False
        self._reads_many = True
        """Whether the servers support reads of many nodes (3.6 or later); True until a server refuses one."""
        self._renewing = asyncio.Lock()
        self._connection: EnsembleConnection
        self._requests: PendingRequests
        self._connected: asyncio.Future[None]

    # -- the session -------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Open the first connection of the session. Raises `StoreUnavailableError` if no server accepts it in
        time.
        """
        settings = self._settings
        self._connected = asyncio.get_running_loop().create_future()
        connection: EnsembleConnection
        connection = EnsembleConnection(
            settings, self._tls, lambda state: self._state_changed(connection, state)
        )
        self._connection = connection
        self._requests = PendingRequests(connection, self._translation, settings.max_in_flight_requests)
        connection.start()
        try:
            await asyncio.wait_for(self._connected, settings.connection_timeout_ms / 1000)
        except TimeoutError as error:
            await connection.stop()
            reason = "" if connection.problem is None else f": {connection.problem}"
            raise StoreUnavailableError(
                f"no ZooKeeper at {settings.servers} took a session in {settings.connection_timeout_ms} ms"
                f"{reason}"
            ) from error

    async def make_chroot(self) -> None:
        """Create the nodes of the chroot that do not exist. Raises `StoreUnavailableError` if ZooKeeper
        allows that to other clients only.
        """
        if await self.exists("/") is not None:
            return
        for create in self._translation.create_chroot():
            with suppress(KazooNodeExistsError, KazooNoNodeError, NoAuthError):  # others may own upper nodes
                await self._requests.read(create)
        if await self.exists("/") is None:
            raise StoreUnavailableError(
                f"the node {self._settings.chroot} of zookeeper.connect does not exist, and ZooKeeper does "
                "not let this broker create it: create it, or log in as a user that may"
            )

    async def renew(self) -> None:
        """Open a new session after the end of the last one."""
        if self._is_closed:
            raise SessionExpiredError("the session with ZooKeeper was closed")
        async with self._renewing:
            if self._state is SessionState.EXPIRED:
                await self.connect()

    async def close(self) -> None:
        """End the session for good."""
        if not self._is_closed:
            self._is_closed = True
            self._listeners.clear()
            self._watches.clear()
            self._requests.end()
            await self._connection.stop()

    def _state_changed(self, connection: EnsembleConnection, state: SessionState) -> None:
        if connection is not self._connection or self._is_closed:
            return
        if state is SessionState.EXPIRED:
            self._give_up()
            if self._state is SessionState.CONNECTED:
                self._become(SessionState.SUSPENDED)
        if state is not self._state:
            self._become(state)

    def _give_up(self) -> None:
        """Release the resources of a session that has ended or was never connected."""
        self._ending = asyncio.ensure_future(self._connection.stop())
        if not self._connected.done():
            self._connected.set_exception(StoreUnavailableError("ZooKeeper refused the session"))

    def _become(self, state: SessionState) -> None:
        self._state = state
        match state:
            case SessionState.CONNECTED:
                self._session_id = self._connection.session_id
                self._watches.resume()  # before the caller reads nodes that it watches
                self._listeners.notify(None, state)
                self._requests.open()
                if not self._connected.done():
                    self._connected.set_result(None)
            case SessionState.SUSPENDED:
                self._watches.suspend()
                self._requests.suspend()
                self._listeners.notify(None, state)
            case SessionState.EXPIRED:
                self._listeners.notify(None, state)
                self._requests.end()

    # -- reads, transactions and watches -----------------------------------------------------------------

    @property
    def last_zxid(self) -> int:
        """Highest transaction id seen in a response."""
        return self._connection.last_zxid

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Return the data and Stat of a node. Raises `NoNodeError`."""
        return self._translation.node(await self._read(path, self._translation.get(path)))

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Return the data and Stat of each node, None for nodes that do not exist."""
        self._insist()
        if len(paths) > 1 and self._reads_many:
            try:
                return await self._get_at_once(paths)
            except UnimplementedError:
                self._reads_many = False
        requested = [self._requests.read(self._translation.get(path)) for path in paths]
        if requested:
            await asyncio.wait(requested)
        return [self._node(path, answer) for path, answer in zip(paths, requested, strict=True)]

    async def _get_at_once(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Return the data and Stat of each node, read with requests of up to `READ_AT_ONCE` paths. Raises
        `UnimplementedError` if the server is older than 3.6.
        """
        parts = [paths[first : first + READ_AT_ONCE] for first in range(0, len(paths), READ_AT_ONCE)]
        requested = [self._requests.read(self._translation.get_many(part)) for part in parts]
        await asyncio.wait(requested)
        nodes: list[tuple[bytes, Stat] | None] = []
        for part, answer in zip(parts, requested, strict=True):
            error = answer.exception()
            if error is not None:
                raise error if isinstance(error, UnimplementedError) else our_error(error, part[0])
            nodes.extend(self._answered(path, one) for path, one in zip(part, answer.result(), strict=True))
        return nodes

    def _node(self, path: str, answer: asyncio.Future[Any]) -> tuple[bytes, Stat] | None:
        return self._answered(path, answer.exception() or answer.result())

    def _answered(self, path: str, answer: Any) -> tuple[bytes, Stat] | None:
        if answer is None or isinstance(answer, KazooNoNodeError):
            return None
        if isinstance(answer, BaseException):
            raise our_error(answer, path) from answer
        return self._translation.node(answer)

    async def exists(self, path: str) -> Stat | None:
        """Return the Stat of a node; None if it does not exist."""
        found = await self._read(path, self._translation.exists(path))
        return None if found is None else stat(found)

    async def children(self, path: str) -> list[str]:
        """Return the sorted names of a node's children. Raises `NoNodeError`."""
        return sorted(await self._read(path, self._translation.children(path)))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Run `ops` as one transaction."""
        self._insist()
        if not ops:
            return []
        try:
            return await self._requests.transact(ops)
        except KazooException as error:
            raise our_error(error, ops[0].path) from error

    def watch(self, path: str, listener: Callable[[WatchEvent], object]) -> Watch:
        """Call `listener` with the changes of a node and of the names of its children."""
        self._insist()
        return self._watches.add(path, listener)

    async def _read(self, path: str, send: Send) -> Any:
        self._insist()
        try:
            return await self._requests.read(send)
        except KazooException as error:
            raise our_error(error, path) from error

    def _insist(self) -> None:
        if self._is_closed or self._state is SessionState.EXPIRED:
            raise SessionExpiredError("the session with ZooKeeper has ended")

    def _send(self, send: Send, answered: Answered) -> None:
        """Send a request at once, ahead of all waiting requests."""
        self._connection.request(send, answered)
