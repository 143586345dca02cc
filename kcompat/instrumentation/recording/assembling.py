"""Exchanges and events rebuilt from the entries of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.instrumentation.recording.exchange import RecordedEvent, RecordedExchange
from kcompat.instrumentation.recording.journal import (
    Answered,
    AskedRequest,
    Began,
    Closed,
    Complained,
    Named,
    Opened,
    Skipped,
)
from kcompat.protocol.uuids import uuid_from_text
from kcompat.security.principals import Principal

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.journal import Entry

_UNKNOWN = Opened(0, 0, "?", 0, "?")


class Assembler:
    """The state of one record while its entries are read in order."""

    def __init__(self) -> None:
        self.broker_id = -1
        self.names: dict[bytes, str] = {}
        """Names of topics by their ids."""
        self.pending: dict[int, RecordedExchange] = {}
        """Requests without an answer so far, by number."""
        self._record = 0
        self._connections: dict[int, Opened] = {}

    def take(self, entry: Entry) -> RecordedExchange | RecordedEvent | None:
        """Process the next entry. Return an exchange if the entry is its answer, or an event if the entry is
        one, else None.

        The mark of an exchange is the number of its connection. Raises ValueError if the entry is damaged.
        """
        match entry:
            case Began(record=record):
                self._begin(record, entry.broker_id)
            case Named(topics):
                self.names |= {uuid_from_text(text): name for text, name in topics.items()}
            case Opened():
                return self._open(entry)
            case Closed(at_ns, connection, reason):
                end = self._connections.pop(connection, _UNKNOWN)
                return RecordedEvent(at_ns, "closed", end.host, end.port, end.listener, text=reason)
            case Complained(at_ns, host, message):
                return RecordedEvent(at_ns, "complaint", host, text=message)
            case AskedRequest():
                self._ask(entry)
            case Answered():
                return self._answer(entry)
            case Skipped(count) if count:
                self.pending.clear()
            case _:
                pass
        return None

    def _begin(self, record: int, broker_id: int) -> None:
        if record != self._record:
            self.pending.clear()
            self._connections.clear()
        self._record, self.broker_id = record, broker_id

    def _open(self, entry: Opened) -> RecordedEvent | None:
        if entry.connection in self._connections:
            return None  # repeated at the beginning of a file
        self._connections[entry.connection] = entry
        return RecordedEvent(entry.at_ns, "opened", entry.host, entry.port, entry.listener)

    def _ask(self, entry: AskedRequest) -> None:
        opened = self._connections.get(entry.connection, _UNKNOWN)
        kind, _, name = entry.principal.partition(":")
        self.pending[entry.number] = RecordedExchange(
            entry.at_ns,
            opened.host,
            opened.port,
            opened.listener,
            Principal(kind, name),
            entry.frame,
            entry.size,
            mark=entry.connection,
        )

    def _answer(self, entry: Answered) -> RecordedExchange | None:
        exchange = self.pending.pop(entry.number, None)
        if exchange is not None:
            exchange.fate = entry.fate
            exchange.answer = tuple(entry.pieces)
            exchange.duration_ns = entry.duration_ns
        return exchange
