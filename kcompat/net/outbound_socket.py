"""Connections of this broker to others, on sockets: the implementation of the port `outbound.Connect`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.net.frame_reader import SCRATCH_SIZE, FrameReader
from kcompat.net.outbound_connection import SocketConnection

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from ssl import SSLContext

    from kcompat.net.outbound import Receiver


class SocketConnector:
    """A `kcompat.net.outbound.Connect` of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._scratch = memoryview(bytearray(SCRATCH_SIZE))

    def __call__(
        self,
        address: tuple[str, int],
        receiver: Receiver,
        *,
        timeout_ms: float,
        max_frame: int,
        receive_buffer: int = -1,
        tls: SSLContext | None = None,
    ) -> SocketConnection:
        make = SocketConnection if tls is None else _tls_connection(tls, address[0])
        connection = make(self._loop, receiver, FrameReader(self._scratch, max_frame), receive_buffer)
        connection.open(address, timeout_ms)
        return connection


def _tls_connection(tls: SSLContext, host: str) -> Callable[..., SocketConnection]:
    from kcompat.net.outbound_tls import OutboundTlsConnection  # loads OpenSSL

    return partial(OutboundTlsConnection, tls, host)
