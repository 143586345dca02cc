"""The administration socket of a running broker: commands of the same machine that Kafka's protocol lacks.

The socket is a Unix domain socket in the first log directory, open to the broker's own user alone; Kafka
ignores the file. A request is one line with a JSON object, {"compact": "topic"}. The broker answers with
lines of JSON as the work goes on, and ends with {"type":"Done"} or {"type":"Refused",...}.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from kcompat import capabilities

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping

    Command = Callable[[str], AsyncGenerator[msgspec.Struct, None]]
    """A command: called with its argument, it yields answers, which are tagged structs. It is closed at the
    end of the connection, if the client leaves earlier.
    """

logger = logging.getLogger(__name__)

FILE_NAME: Final = "admin.sock"
MAX_LINE: Final = 64 << 10
"""Bytes of the longest request."""
MAX_CONNECTIONS: Final = 8
IDLE_S: Final = 60.0
"""Seconds that a connection may take for its next request."""

_LONGEST_ADDRESS: Final = 100
"""Bytes of a path that every system accepts as the address of a Unix domain socket."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """Last line of an answer: the request has been carried out."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Last line of an answer: the request is not valid, for the `reason` given; the broker ends the
    connection.
    """

    reason: str


class AdminSocket:
    """The broker's end of the administration socket. `commands` are the commands that it serves, by name."""

    def __init__(self, directory: str, commands: Mapping[str, Command], idle_s: float = IDLE_S) -> None:
        self._path = f"{directory}/{FILE_NAME}"
        self._idle_s = idle_s
        self._directory = directory
        self._commands = commands
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start to listen. If the socket cannot be made, log a warning; the broker runs without it."""
        try:
            sock = _listen(self._directory, self._path)
        except OSError as error:
            logger.warning("no administration socket %s: %s", self._path, error.strerror or error)
            return
        self._server = await asyncio.start_unix_server(self._accepted, sock=sock, limit=MAX_LINE)

    async def close(self) -> None:
        """Stop listening, cancel running commands, and remove the socket's file."""
        if self._server is None:
            return
        self.abandon()
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # noqa: PTH108 - paths of log directories are strings
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abandon(self) -> None:
        """Stop listening and cancel running commands; the socket's file stays, as after a crash of the
        process.
        """
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
            pass  # the client left or sent nothing, or the broker stops
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
                async with aclosing(command(argument)) as answers:
                    async for answer in answers:
                        await _send(writer, answer)
            await _send(writer, last)
            if isinstance(last, Refused):
                break


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Read the next line; return b"" at the end of the stream, and for a line that is cut off or too long."""
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return b""


def _request(line: bytes) -> tuple[str, str]:
    """Return the name and the argument of the command in a line. Raises ValueError, msgspec.MsgspecError."""
    ((name, argument),) = msgspec.json.decode(line, type=dict[str, str]).items()
    return name, argument


async def _send(writer: asyncio.StreamWriter, answer: msgspec.Struct) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    await writer.drain()


def _listen(directory: str, path: str) -> socket.socket:
    """Return a socket that listens at a path; replaces the one that a killed broker left there. Raises
    OSError.
    """
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
    """Yield an address of the socket in a directory. If the path is too long for an address, the address
    leads through a descriptor of the directory (Linux), or through a symbolic link.
    """
    address = f"{directory}/{FILE_NAME}"
    if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
        yield address
        return
    if not capabilities.LINUX:
        import tempfile  # here, as few paths are too long

        with tempfile.TemporaryDirectory() as short:
            Path(short, "d").symlink_to(Path(directory).absolute())
            yield f"{short}/d/{FILE_NAME}"
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{FILE_NAME}"
    finally:
        os.close(descriptor)


class AdminSocketClient:
    """The client's end of the administration socket; its calls block. `with` closes it."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._file = sock.makefile("rb")

    @classmethod
    def connect(cls, directory: str) -> AdminSocketClient | None:
        """Connect to the broker that runs on a log directory; return None if none does. Raises OSError."""
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
        """Run a command and yield its answers, whose type is the union of tagged structs `answers`.

        Raises ConnectionError with a sentence when the broker refuses the command or stops before its end.
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
