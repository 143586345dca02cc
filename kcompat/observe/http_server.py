"""An HTTP server for an ASGI application, on the event loop that runs."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)
logger.setLevel(logging.ERROR)

MAX_CONNECTIONS: Final = 100
HEADERS_TIMEOUT_S: Final = 10
"""Seconds that a client has for the headers of a request."""
READ_TIMEOUT_S: Final = 10
"""Seconds that a client has to read on while much of a response is unsent."""
STOP_TIMEOUT_S: Final = 2
"""Seconds that requests have to end when the server stops."""


class _Server(uvicorn.Server):
    """Uvicorn's server in a program that handles signals itself."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


class _Protocol(H11Protocol):
    """Uvicorn's HTTP, without a warning for each client that offers HTTP/2, as Java's does.

    Connections that are idle, or whose client does not read, end after a time, so that they do not keep new
    ones out.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = logger
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._heard_at = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request is served on the connection."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()
        if len(self.connections) > MAX_CONNECTIONS:
            others = [each for each in self.connections if isinstance(each, _Protocol) and each is not self]
            oldest = min(
                (each for each in others if each.is_idle), key=lambda each: each._heard_at, default=None
            )
            if oldest is not None:
                oldest.transport.abort()
                self.connections.discard(oldest)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_headers()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        """Give the client some time for the headers of a request, from the moment at which the connection is
        idle.
        """
        self._heard_at = self.loop.time()
        if not self.is_idle:
            self._forget_deadline()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEADERS_TIMEOUT_S, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class HttpServer:
    """A server of one application on one bound socket."""

    def __init__(self, served: ASGIApp, sock: socket.socket) -> None:
        self._server = _Server(
            uvicorn.Config(
                served,
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS + 1,
                timeout_graceful_shutdown=STOP_TIMEOUT_S,
            )
        )
        self._socket = sock
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Accept clients from now on."""
        self._serving = asyncio.create_task(self._server.serve([self._socket]))

    async def stop(self) -> None:
        """Wait for running requests, and close the socket and the connections."""
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving
        self.abandon()

    def abandon(self) -> None:
        """Close the socket and the connections at once. The event loop must not watch a closed socket, whose
        number the next one gets.
        """
        if self._serving is not None:
            self._serving.cancel()
        for server in getattr(self._server, "servers", ()):  # which uvicorn has once it listens
            server.close()
        for each in tuple(self._server.server_state.connections):
            each.transport.abort()
        self._socket.close()
