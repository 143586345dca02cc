"""The ZooKeeper server: its port and sockets, and its connection to the store."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar, cast

from msgspec.structs import replace

from kcompat.promise import Promise
from kcompat.store.interface import Create
from kcompat.zookeeper_server.access import READ_ONLY
from kcompat.zookeeper_server.connection import ClientConnection
from kcompat.zookeeper_server.service import Service
from kcompat.zookeeper_server.writes import CONFIG_PATH, SYSTEM_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kcompat.clock import Clock
    from kcompat.store.process_store import ProcessStore
    from kcompat.store.tree import Tree, TreeTransaction
    from kcompat.zookeeper_server.service import ServerConfig

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_UNSENT: Final = 16 << 20
"""Maximum number of bytes that wait for a client that does not read; beyond it the connection is closed."""
CLOSE_S: Final = 5.0
"""Seconds that a client has to read its last replies when the server closes."""


class ZooKeeperServer:
    """Server of ZooKeeper's protocol on a port, over the sessions of a store."""

    def __init__(self, store: ProcessStore, clock: Clock, random: Random, config: ServerConfig) -> None:
        """Take over the stored sessions of clients. Create the server before the store's first session."""
        self._store = store
        self._service = Service(_Backend(store), clock, random, config, store.take_over_sessions())
        self._changes = store.subscribe(self._service.changed)
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Port on which the server listens."""
        return self._service.config.client_port

    async def open(self, host: str) -> None:
        """Listen on `host` and on the configured port; 0 means any free port. Raises OSError,
        StoreUnavailableError.
        """
        await self._store.transact(0, _make_system_nodes)
        service = self._service
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Client(service), host, service.config.client_port
        )
        port: int = self._server.sockets[0].getsockname()[1]
        service.config = replace(service.config, client_port=port)

    async def close(self) -> None:
        """Close the port and every connection; the sessions stay in the store."""
        self._changes.cancel()
        if self._server is not None:
            self._server.close()
        self._service.stop()


def _make_system_nodes(transaction: TreeTransaction) -> None:
    for path in SYSTEM_PATHS:
        if transaction.find(path) is None:
            transaction.run(Create(path, acl=READ_ONLY if path == CONFIG_PATH else None))


class _Backend:
    """The store in the form of the `Backend` port."""

    def __init__(self, store: ProcessStore) -> None:
        self._store = store

    @property
    def tree(self) -> Tree:
        return self._store.tree

    def transact(self, session_id: int, work: Callable[[TreeTransaction], T]) -> Promise[tuple[int, T]]:
        promise: Promise[tuple[int, T]] = Promise()

        def settle(future: asyncio.Future[tuple[int, T]]) -> None:
            error = future.exception()
            if error is None:
                promise.complete(future.result())
            else:
                promise.fail(cast("Exception", error))

        self._store.submit(session_id, work).add_done_callback(settle)
        return promise


class _Client(asyncio.Protocol):
    """Socket of one client, and its `ClientConnection`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport
        self._connection: ClientConnection | None = None

    # Calls of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        host = host.removeprefix("::ffff:")
        if self._service.admits(host):
            self._connection = ClientConnection(self._service, host, port, self)
        else:
            logger.warning("%s: connection closed: the address has too many to ZooKeeper's port", host)
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._connection is not None:
            self._connection.received(data)

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.hold(True)

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.hold(False)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._connection is not None:
            self._connection.disconnected()

    # Calls of the connection: see `connection.Transport`

    def write(self, data: bytes) -> None:
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > MAX_UNSENT:
            self._transport.abort()

    def listen(self, wanted: bool) -> None:
        if self._transport.is_closing():
            return
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def close(self) -> None:
        self._transport.close()
        asyncio.get_running_loop().call_later(CLOSE_S, self._transport.abort)
