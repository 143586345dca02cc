"""The entries of a flight record and of a live trace, and the journal that makes them.

A journal makes entries, which can be stored and sent, of the frames that one broker receives and sends, with
times, and of the openings and ends of connections. Connections and requests have numbers that count up.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct

from kcompat.instrumentation.recording.exchange import Fate, RecordedExchange
from kcompat.protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.net.interception import ObservedConnection
    from kcompat.node.hooks import Hooks

FORMAT_VERSION = 1
LeftOut: TypeAlias = Annotated[int, Meta(ge=0, le=0x7FFF_FFFF)]
"""Number of bytes of an answer that were not kept. The length of an answer has 31 bits."""


class Began(Struct, frozen=True, array_like=True, tag="began"):
    """The beginning of a record."""

    format_version: int
    at_ns: int
    broker_id: int
    record: int
    """A number that the files of one record share. In another record, requests are counted anew."""


class Opened(Struct, frozen=True, array_like=True, tag="opened"):
    """A connection that was accepted, or that was open when the record began."""

    at_ns: int
    connection: int
    host: str
    port: int
    listener: str


class Closed(Struct, frozen=True, array_like=True, tag="closed"):
    """The end of a connection."""

    at_ns: int
    connection: int
    reason: str


class Complained(Struct, frozen=True, array_like=True, tag="complained"):
    """A message of the broker about the peer at an address."""

    at_ns: int
    host: str
    message: str


class Named(Struct, frozen=True, array_like=True, tag="named"):
    """Topic names by the text of their ids, only those not in an earlier entry."""

    topics: dict[str, str]


class AskedRequest(Struct, frozen=True, array_like=True, tag="asked"):
    """A request, with the bytes of its frame."""

    at_ns: int
    connection: int
    number: int
    principal: str
    size: int
    """Bytes of the frame as it was received, without its length prefix."""
    frame: bytes


class Answered(Struct, frozen=True, array_like=True, tag="answered"):
    """The answer to a request, or the end of a request without an answer."""

    number: int
    """Number of the request."""
    duration_ns: int
    fate: Fate
    pieces: list[bytes | LeftOut]
    """The answer with its length prefix: bytes, and numbers of bytes that were left out."""


class Skipped(Struct, frozen=True, array_like=True, tag="skipped"):
    """A gap: entries that were left out because their reader was too slow. A count of 0 is sent while nothing
    happens, to show that the broker is alive.
    """

    count: int


Entry: TypeAlias = Began | Opened | Closed | Complained | Named | AskedRequest | Answered | Skipped


class RecordJournal:
    """A `Sink` and `ConnectionObserver` that calls `write` with the next entries of one broker.

    `begin` has to be called first, and again at the beginning of each further file.
    """

    def __init__(self, broker: Hooks, write: Callable[..., object]) -> None:
        self._broker = broker
        self._write = write
        self._record = time_ns()
        self._connections: dict[tuple[str, int], Opened] = {}
        self._last_connection = 0
        self._last_request = 0
        self._names: Mapping[bytes, str] = {}

    def begin(self) -> None:
        """Write the first entries of a file: its beginning, the open connections, and names of topics."""
        self._write(Began(FORMAT_VERSION, time_ns(), self._broker.broker_id, self._record))
        for opened in self._connections.values():
            self._write(opened)
        self._names = {}
        self._name_topics()

    def add(self, exchange: RecordedExchange) -> None:
        self._last_request += 1
        exchange.mark = self._last_request
        if self._broker.metadata.image.topic_names is not self._names:
            self._name_topics()
        key = exchange.host, exchange.port
        connection = self._connections.get(key) or self._open(*key, exchange.listener)
        asked = AskedRequest(
            exchange.at_ns,
            connection.connection,
            exchange.mark,
            str(exchange.principal),
            exchange.request_size,
            exchange.request,
        )
        if exchange.fate is Fate.WAITING:
            self._write(asked)
            exchange.release()  # its bytes are written, and the answer may take long
        else:
            self._write(asked, _answered(exchange))

    def settle(self, exchange: RecordedExchange) -> None:
        self._write(_answered(exchange))

    def opened(self, connection: ObservedConnection) -> None:
        self._open(connection.peer_host, connection.peer_port, connection.listener_name)

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        opened = self._connections.pop((connection.peer_host, connection.peer_port), None)
        if opened is not None:
            self._write(Closed(time_ns(), opened.connection, reason))

    def complained(self, host: str, message: str) -> None:
        self._write(Complained(time_ns(), host, message))

    def _open(self, host: str, port: int, listener: str) -> Opened:
        self._last_connection += 1
        opened = Opened(time_ns(), self._last_connection, host, port, listener)
        self._connections[host, port] = opened
        self._write(opened)
        return opened

    def _name_topics(self) -> None:
        names = self._broker.metadata.image.topic_names
        new = {uuid_to_text(key): name for key, name in names.items() if self._names.get(key) != name}
        self._names = names
        if new:
            self._write(Named(new))


def _answered(exchange: RecordedExchange) -> Answered:
    return Answered(exchange.mark, exchange.duration_ns, exchange.fate, list(exchange.answer))
