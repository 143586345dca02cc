"""The recorder of the requests to running brokers: a ring for each broker, and queries of them."""

from __future__ import annotations

from copy import copy
from datetime import datetime
from time import time_ns
from typing import TYPE_CHECKING, Final

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest
from kcompat.instrumentation.recording.exchange import RecordedEvent, RecordedExchange
from kcompat.instrumentation.recording.filters import WantedRequests
from kcompat.instrumentation.recording.ring import RING_BYTES, Ring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.instrumentation.recording.outcome import Names
    from kcompat.net.interception import ObservedConnection
    from kcompat.node.hooks import Hooks

KEEPING: Final = Keeping(frame=8 << 10)


class EventNotes:
    """A `ConnectionObserver` that adds each event to a ring."""

    def __init__(self, ring: Ring) -> None:
        self._note = ring.note

    def opened(self, connection: ObservedConnection) -> None:
        self._note(_event("opened", connection, ""))

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        self._note(_event("closed", connection, reason))

    def complained(self, host: str, message: str) -> None:
        self._note(RecordedEvent(time_ns(), "complaint", host, text=message))


def _event(what: str, of: ObservedConnection, text: str) -> RecordedEvent:
    return RecordedEvent(
        time_ns(), what, of.peer_host, of.peer_port, of.listener_name, str(of.principal), text
    )


class Recorder:
    """The record of one or more brokers, used on their event loop."""

    def __init__(self, limit: int = RING_BYTES) -> None:
        """Make an empty record. `limit` is the maximum number of bytes for all brokers together."""
        self._limit = limit
        self._rings: dict[int, Ring] = {}
        self._brokers: dict[int, Hooks] = {}

    def attach(self, broker: Hooks) -> None:
        """Record the requests to a broker from now on. After a restart of the broker, its ring is
        continued.
        """
        ring = self._rings.setdefault(broker.broker_id, Ring())
        self._brokers[broker.broker_id] = broker
        for each in self._rings.values():
            each.limit = self._limit // len(self._rings)
        broker.interception.add(Capture(ring, KEEPING))
        broker.observers.append(EventNotes(ring))

    def snapshot(self) -> RecordingCopy:
        """Return a copy of what is recorded, which any thread may read."""
        entries = [
            (broker_id, copy(entry)) for broker_id, ring in self._rings.items() for entry in ring.entries()
        ]
        entries.sort(key=lambda each: each[1].at_ns)
        names: dict[bytes, str] = {}
        for broker in self._brokers.values():
            names |= broker.metadata.image.topic_names
        return RecordingCopy(entries, names)


class RecordingCopy:
    """A copy of what was recorded up to a point in time, the oldest first."""

    def __init__(self, entries: Sequence[tuple[int, RecordedExchange | RecordedEvent]], names: Names) -> None:
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
        wanted = WantedRequests.of(client_id, api, topic, errors_only=errors_only)
        return [
            request
            for broker_id, entry in self._since(since)
            if isinstance(entry, RecordedExchange)
            if wanted.includes(request := RecordedRequest(entry, broker_id, self._names))
        ]

    def connection_events(self, since: float | datetime | None = None) -> list[ConnectionEvent]:
        """Return the events of connections, in order."""
        found = self._since(since)
        return [
            ConnectionEvent(entry, broker_id)
            for broker_id, entry in found
            if isinstance(entry, RecordedEvent)
        ]

    def _since(
        self, since: float | datetime | None
    ) -> Iterator[tuple[int, RecordedExchange | RecordedEvent]]:
        given: object = since
        if not (given is None or isinstance(given, (int, float, datetime))):
            raise UsageError(f"since={given!r} is not possible: use a time of time.time() or a datetime")
        seconds = since.timestamp() if isinstance(since, datetime) else since or 0.0
        return (each for each in self._entries if each[1].at_ns >= seconds * 1e9)
