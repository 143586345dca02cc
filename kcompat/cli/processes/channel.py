"""The messages between the command and the process of a broker: lines of JSON over a pair of sockets.

When one process ends, however that happens, the other reads the end of the channel.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from kcompat.config.first_topics import FirstTopic  # noqa: TC001 - msgspec reads the annotation
from kcompat.node.listeners import ServedListener  # noqa: TC001 - msgspec reads the annotation
from kcompat.security.added_users import AddedUser  # noqa: TC001 - msgspec reads the annotation

if TYPE_CHECKING:
    import socket

LONGEST = 1 << 24
"""Maximum number of bytes of a message; a `Job` holds the whole configuration."""


class OwnStore(msgspec.Struct, frozen=True):
    """The metadata store that a broker keeps, and the address at which it serves ZooKeeper clients."""

    directory: str
    host: str
    port: int
    users: tuple[AddedUser, ...]
    """Users that a new cluster begins with."""


class Job(msgspec.Struct, frozen=True, tag=True):
    """Order to run a broker. Without an own store, the configuration names the store."""

    broker_id: int
    brokers: int
    """Number of brokers in the cluster."""
    config: dict[str, str]
    log_level: str | None
    store: OwnStore | None = None
    topics: tuple[FirstTopic, ...] = ()
    """Topics that exist once the cluster has started."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Order to end cleanly. All other brokers end too, so leaderships are not handed over."""


class Started(msgspec.Struct, frozen=True, tag=True):
    """Report: the broker accepts clients."""

    address: str
    zookeeper_port: int | None
    """Port at which the broker serves its store; None without a store of its own."""
    listeners: tuple[ServedListener, ...] = ()


class SeesAll(msgspec.Struct, frozen=True, tag=True):
    """Report: the broker's metadata image has the controller, all brokers of the cluster, and the topics of
    the job.
    """


class StartRefused(msgspec.Struct, frozen=True, tag=True):
    """Report: the broker cannot start, for the reason that the sentence gives."""

    sentence: str


class StopAll(msgspec.Struct, frozen=True, tag=True):
    """Report: a signal asked the broker that keeps the store to end, so the whole cluster must end."""


Order = Job | Stop
Report = Started | SeesAll | StartRefused | StopAll

T = TypeVar("T")


class Channel(Generic[T]):
    """One end of the channel; `T` is the type of the received messages."""

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
        """Send a message; do nothing if the channel is closed."""
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(message) + b"\n")

    async def receive(self) -> T | None:
        """Return the next message; None when the other process has ended."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        return self._decoder.decode(line) if line.endswith(b"\n") else None

    def close(self) -> None:
        """Close this end of the channel."""
        self._writer.close()


OF_ORDERS: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
OF_REPORTS: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)
