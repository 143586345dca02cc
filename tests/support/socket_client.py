"""A client of brokers that run somewhere, on a running event loop."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any, Self

from support.raw_client import request_frame, response_in

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

_SIZE = struct.Struct(">i")


class SocketClient:
    """One connection, one request at a time. Raises ConnectionError once the broker has ended it."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._name = name
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, name: str, address: tuple[str, int]) -> Self:
        """A connection of a client with this name."""
        return cls(name, *await asyncio.open_connection(*address))

    async def call(self, request: Message, version: int) -> Any:
        """The response to a request."""
        self._correlation_id += 1
        self._writer.write(request_frame(request, version, self._correlation_id, self._name))
        try:
            (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            frame = await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("the broker closed the connection") from error
        return response_in(frame, type(request), version)

    def close(self) -> None:
        """End the connection at once, as the end of a process does."""
        self._writer.transport.abort()
