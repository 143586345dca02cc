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
STOP_TIMEOUT_S: Final = 2
"""Seconds that requests have to end when the server stops."""


class _Server(uvicorn.Server):
    """Uvicorn's server in a program that handles signals itself."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


class _Protocol(H11Protocol):
    """Uvicorn's HTTP, without a warning for each client that offers HTTP/2, as Java's does."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = logger


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
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=STOP_TIMEOUT_S,
            )
        )
        self._socket = sock
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Accept clients from now on."""
        self._serving = asyncio.create_task(self._server.serve([self._socket]))

    async def stop(self) -> None:
        """Wait for running requests, and close the socket."""
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving
