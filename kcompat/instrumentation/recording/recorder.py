"""The recorder of the requests to a running broker: a ring for each broker, and questions to them."""

from __future__ import annotations

from copy import copy
from datetime import datetime
from time import time_ns
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.instrumentation.recording.entry import RecordedRequest, api_name, api_named, clock_text
from kcompat.instrumentation.recording.exchange import Event, Exchange
from kcompat.instrumentation.recording.ring import RING_BYTES, Ring
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.cluster.image import ImageHolder
    from kcompat.instrumentation.recording.outcome import Names
    from kcompat.net.observer import ObservedConnection
    from kcompat.node.hooks import Hooks

KEEPING: Final = Keeping(frame=8 << 10)


class ConnectionEvent:
    """A connection that was opened or closed, or a complaint of the broker about its peer. Its `repr` is one
    line.
    """

    def __init__(self, event: Event, broker_id: int) -> None:
        self.time = event.at_ns / 1e9
        """Time in seconds since the epoch."""
        self.broker_id = broker_id
        self.what = event.what
        """`opened`, `closed` or `complaint`."""
        self.peer = f"{event.host}:{event.port}" if event.port else event.host
        """Address of the client, with its port except for a complaint."""
        self.listener = event.listener
        self.principal = event.principal
        self.text = event.text
        """The reason of the end, such as `disconnected` or `refused login`, or the complaint."""

    def __repr__(self) -> str:
        """Return one line: time, address, and what happened."""
        about = f": {self.text}" if self.text else ""
        return f"{clock_text(int(self.time * 1e9))} {self.peer} {self.what}{about}"


class EventNotes:
    """A `ConnectionObserver` that notes each event in a ring."""

    def __init__(self, ring: Ring) -> None:
        self._note = ring.note

    def opened(self, connection: ObservedConnection) -> None:
        self._note(_event("opened", connection, ""))

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        self._note(_event("closed", connection, reason))

    def complained(self, host: str, message: str) -> None:
        self._note(Event(time_ns(), "complaint", host, text=message))


def _event(what: str, of: ObservedConnection, text: str) -> Event:
    return Event(time_ns(), what, of.peer_host, of.peer_port, of.listener_name, str(of.principal), text)


class Recorder:
    """The record of one or more brokers, used on their event loop."""

    def __init__(self, limit: int = RING_BYTES) -> None:
        """Make an empty record. `limit` is the most bytes that it takes for all brokers together."""
        self._limit = limit
        self._rings: dict[int, Ring] = {}
        self._captures: dict[int, Capture] = {}
        self._images: dict[int, ImageHolder] = {}

    def attach(self, broker: Hooks) -> None:
        """Record the requests to a broker from now on. After a restart it goes on in the same ring."""
        ring = self._rings.setdefault(broker.broker_id, Ring())
        self._images[broker.broker_id] = broker.metadata
        for each in self._rings.values():
            each.limit = self._limit // len(self._rings)
        # A restart in place keeps the interceptors.
        broker.interception.add(self._captures.setdefault(broker.broker_id, Capture(ring, KEEPING)))
        broker.observers.append(EventNotes(ring))

    def snapshot(self) -> Record:
        """Return a copy of what is recorded, which any thread may read."""
        entries = [
            (broker_id, copy(entry)) for broker_id, ring in self._rings.items() for entry in ring.entries()
        ]
        entries.sort(key=lambda each: each[1].at_ns)
        names: dict[bytes, str] = {}
        for holder in self._images.values():
            names |= holder.image.topic_names
        return Record(entries, names)


class Record:
    """A copy of what was recorded until a moment, the oldest first."""

    def __init__(self, entries: Sequence[tuple[int, Exchange | Event]], names: Names) -> None:
        """Hold entries with the ids of their brokers; `names` are the names of topics by their ids."""
        self._entries = entries
        self._names = names

    def requests(
        self,
        client_id: str | None = None,
        api: str | None = None,
        topic: str | None = None,
        since: float | datetime | None = None,
        errors_only: bool = False,
    ) -> list[RecordedRequest]:
        """Return the requests that match, in the order in which they came.

        Raises:
            UsageError: there is no such API.
        """
        wanted = _Wanted(client_id, _name_of(api), topic, errors_only)
        return [
            request
            for broker_id, entry in self._since(since)
            if isinstance(entry, Exchange)
            if wanted.includes(request := RecordedRequest(entry, broker_id, self._names))
        ]

    def connection_events(self, since: float | datetime | None = None) -> list[ConnectionEvent]:
        """Return the events of connections, in order."""
        found = self._since(since)
        return [ConnectionEvent(entry, broker_id) for broker_id, entry in found if isinstance(entry, Event)]

    def _since(self, since: float | datetime | None) -> Iterator[tuple[int, Exchange | Event]]:
        seconds = since.timestamp() if isinstance(since, datetime) else since or 0.0
        return (each for each in self._entries if each[1].at_ns >= seconds * 1e9)


class _Wanted(Struct, frozen=True):
    """The filters of a question."""

    client_id: str | None
    api: str | None
    topic: str | None
    errors_only: bool

    def includes(self, request: RecordedRequest) -> bool:
        """Return whether a request passes; the filters that decode least come first."""
        return (
            self.client_id in (None, request.client_id)
            and self.api in (None, request.api)
            and (self.topic is None or self.topic in request.topics)
            and (not self.errors_only or request.failed)
        )


def _name_of(api: str | None) -> str | None:
    if api is None:
        return None
    key = api_named(api)
    if key is None:
        known = ", ".join(map(api_name, ApiKey))
        raise UsageError(f"api={api!r} is not the name of an API: use one of {known}")
    return api_name(key)
