"""The messages between the command and the process of a broker: lines of JSON over a pair of sockets.

The end of either process, however it comes, is the end of the channel for the other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from kcompat.node.listeners import ServedListener  # noqa: TC001 - msgspec reads the annotation

if TYPE_CHECKING:
    import socket

LONGEST = 1 << 24
"""Bytes of a message; a job has the whole configuration."""


class OwnStore(msgspec.Struct, frozen=True):
    """The metadata store that a broker keeps, and where it serves that to ZooKeeper's clients."""

    directory: str
    host: str
    port: int


class Job(msgspec.Struct, frozen=True, tag=True):
    """The job of a process: the broker to run. Without an own store, its configuration names the store."""

    broker_id: int
    brokers: int
    """Number of brokers of the cluster."""
    config: dict[str, str]
    log_level: str | None
    store: OwnStore | None = None


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End cleanly; all the others do, so nothing is handed over."""


class Started(msgspec.Struct, frozen=True, tag=True):
    """The broker accepts clients."""

    address: str
    zookeeper_port: int | None
    """Address at which the broker serves its store; None without one."""
    listeners: tuple[ServedListener, ...] = ()


class SeesAll(msgspec.Struct, frozen=True, tag=True):
    """The broker knows all the others, and the controller."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The broker cannot be: a sentence for the user."""

    sentence: str


class StopAll(msgspec.Struct, frozen=True, tag=True):
    """The broker that keeps the store was told to end."""


Order = Job | Stop
Report = Started | SeesAll | Refused | StopAll

T = TypeVar("T")


class Channel(Generic[T]):
    """One end; `T` is what comes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, decoder: msgspec.json.Decoder[T]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = decoder

    @classmethod
    async def open(cls, end: socket.socket, decoder: msgspec.json.Decoder[T]) -> Channel[T]:
        """Take over one end of a pair of sockets."""
        reader, writer = await asyncio.open_connection(sock=end, limit=LONGEST)
        return cls(reader, writer, decoder)

    def send(self, message: Order | Report) -> None:
        """Send; where nobody listens any more nothing happens."""
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(message) + b"\n")

    async def receive(self) -> T | None:
        """The next message; None when the other process has ended."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        return self._decoder.decode(line) if line.endswith(b"\n") else None

    def close(self) -> None:
        """Neither send nor receive any more."""
        self._writer.close()


OF_ORDERS: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
OF_REPORTS: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)
