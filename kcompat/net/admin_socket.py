"""The administration socket of a running broker: for commands of this machine that clients have no API for.

A Unix domain socket in the first log directory, open to the broker's own user alone; Kafka takes no notice
of it. A request is one line with a JSON object, {"compact": "topic"}; it is answered by lines of JSON as the
work goes on, and a last one, {"type":"Done"} or {"type":"Refused",...}.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from kcompat import capabilities

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    Command = Callable[[str], AsyncIterator[msgspec.Struct]]
    """A command: called with its argument, it yields answers, which are tagged structs."""

logger = logging.getLogger(__name__)

FILE_NAME: Final = "admin.sock"
MAX_LINE: Final = 64 << 10
"""Bytes of the longest request."""
MAX_CONNECTIONS: Final = 8
IDLE_S: Final = 60.0
"""Seconds that a connection may take for its next request."""

_LONGEST_ADDRESS: Final = 100
"""Bytes of a path that every system takes as the address of a socket."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """All of the answer to a request has been sent."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The request is none; the connection ends."""

    reason: str


class AdminSocket:
    """The broker's end. `commands` are what it serves, by name."""

    def __init__(self, directory: str, commands: Mapping[str, Command], idle_s: float = IDLE_S) -> None:
        self._path = f"{directory}/{FILE_NAME}"
        self._idle_s = idle_s
        self._directory = directory
        self._commands = commands
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen. Where that cannot be, the broker does without, and says so."""
        try:
            sock = _listen(self._directory, self._path)
        except OSError as error:
            logger.warning("no administration socket %s: %s", self._path, error.strerror or error)
            return
        self._server = await asyncio.start_unix_server(self._accepted, sock=sock, limit=MAX_LINE)

    async def close(self) -> None:
        """Stop listening, end what is under way, and remove the file."""
        if self._server is None:
            return
        self.abandon()
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # noqa: PTH108 - paths of log directories are strings
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abandon(self) -> None:
        """Stop listening and end what is under way; the file stays, as after the end of a process."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._tasks:
            task.cancel()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task of its own"
        self._tasks.add(task)
        try:
            if len(self._tasks) <= MAX_CONNECTIONS:
                await self._converse(reader, writer)
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # the other side went, or said nothing, or the broker stops
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await asyncio.wait_for(_line(reader), self._idle_s):
            last: msgspec.Struct = Done()
            try:
                name, argument = _request(line)
                command = self._commands[name]
            except (msgspec.MsgspecError, ValueError, KeyError) as error:
                last = Refused(f"not a request of this broker: {error}")
            else:
                async for answer in command(argument):
                    await _send(writer, answer)
            await _send(writer, last)
            if isinstance(last, Refused):
                break


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; b"" at the end, and for what is no whole line of a lawful length."""
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return b""


def _request(line: bytes) -> tuple[str, str]:
    """Name and argument of a command. Raises ValueError, msgspec.MsgspecError."""
    ((name, argument),) = msgspec.json.decode(line, type=dict[str, str]).items()
    return name, argument


async def _send(writer: asyncio.StreamWriter, answer: msgspec.Struct) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    await writer.drain()


def _listen(directory: str, path: str) -> socket.socket:
    """A socket that listens at a path; one that a killed broker left there is replaced. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)  # noqa: PTH108
    sock = socket.socket(socket.AF_UNIX)
    try:
        with _address(directory) as address:
            sock.bind(address)
        os.chmod(path, 0o600)  # noqa: PTH101 - nobody can connect before it listens
        sock.listen(MAX_CONNECTIONS)
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def _address(directory: str) -> Iterator[str]:
    """The address of a directory's socket; where the path is too long for one, it leads through a descriptor,
    or through a link.
    """
    address = f"{directory}/{FILE_NAME}"
    if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
        yield address
        return
    if not capabilities.LINUX:
        with tempfile.TemporaryDirectory() as short:
            Path(short, "d").symlink_to(Path(directory).absolute())
            yield f"{short}/d/{FILE_NAME}"
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{FILE_NAME}"
    finally:
        os.close(descriptor)


class AdminClient:
    """The other end, for a process that has nothing else to do; `with` closes it."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._file = sock.makefile("rb")

    @classmethod
    def connect(cls, directory: str) -> AdminClient | None:
        """A connection to the broker that runs on a log directory; None if none does. Raises OSError."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            with _address(directory) as address:
                sock.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            sock.close()
            return None
        except BaseException:
            sock.close()
            raise
        return cls(sock)

    def ask(self, name: str, argument: str, answers: Any) -> Iterator[Any]:
        """Run a command: its answers, of the union of tagged structs `answers`, until it is done.

        Raises ConnectionError with a sentence when the broker refuses it or ends before that.
        """
        decoder = msgspec.json.Decoder(answers | Done | Refused)
        self._socket.sendall(msgspec.json.encode({name: argument}) + b"\n")
        for line in self._file:
            match decoder.decode(line):
                case Done():
                    return
                case Refused(reason):
                    raise ConnectionError(f"the broker refused: {reason}")
                case answer:
                    yield answer
        raise ConnectionError("the broker has stopped")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()
