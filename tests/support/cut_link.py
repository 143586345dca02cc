"""A link of TCP that can be cut, and mended, and lose what comes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable


class CutLink:
    """Listens on a free port of the loopback address, and carries what comes to `target` and back.

    With `tls` both connections are encrypted: by the first as the link is a server to who asks, by the second
    as it is a client of the target. It reads what it carries all the same.
    """

    def __init__(
        self, target: tuple[str, int], tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
    ) -> None:
        self._target = target
        self._serves = None if tls is None else tls[0]
        self._asks = None if tls is None else tls[1]
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._stop_at: Callable[[bytes], bool] | None = None
        self.has_cut = asyncio.Event()
        """Set while it is cut."""
        self.first_answer = b""
        """First bytes from the target on the latest connection."""

    async def open(self) -> int:
        """Begin to listen; the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._serves)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        """Break the connections, and take no more."""
        self._is_cut = True
        self.has_cut.set()
        for writer in tuple(self._writers):
            writer.transport.abort()

    def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False
        self.has_cut.clear()

    def lose_the_answer_to(self, is_meant: Callable[[bytes], bool]) -> None:
        """Let the next request through for which `is_meant(bytes)`, and cut the link before its answer."""
        self._stop_at = is_meant

    async def close(self) -> None:
        """Break everything for good."""
        self.cut()
        if self._server is not None:
            self._server.close()
        for task in tuple(self._carrying):
            task.cancel()
        ends = [writer.wait_closed() for writer in self._writers]  # an encrypted one takes leave of its peer
        await asyncio.gather(*self._carrying, *ends, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection(*self._target, ssl=self._asks)
        self._writers |= {writer, there_writer}
        self.first_answer = b""
        muted = asyncio.Event()
        for task in (
            asyncio.create_task(self._carry_there(reader, there_writer, muted)),
            asyncio.create_task(self._carry_back(there_reader, writer, muted)),
        ):
            self._carrying.add(task)
            task.add_done_callback(self._carrying.discard)

    async def _carry_there(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, muted: asyncio.Event
    ) -> None:
        while data := await _read(reader):
            if self._stop_at is not None and self._stop_at(data):
                self._stop_at = None
                muted.set()
            writer.write(data)
        writer.close()

    async def _carry_back(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, muted: asyncio.Event
    ) -> None:
        while data := await _read(reader):
            if muted.is_set():  # the target has answered: it has done what was asked
                self.cut()
                break
            self.first_answer = self.first_answer or data
            writer.write(data)
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(65536)
    except OSError:
        return b""
