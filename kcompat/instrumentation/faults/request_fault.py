"""The base class of all faults of requests: an interceptor that changes the serving of selected requests.

Some kinds withhold answers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from kcompat.instrumentation.exchange import ReceivedRequest
from kcompat.instrumentation.faults import fetch_sessions
from kcompat.net.answers import Waiting
from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection, Mode
    from kcompat.net.interception import Interception, Serve
    from kcompat.protocol.api_keys import ApiKey

MOST_REMEMBERED: Final = 1000
"""Maximum number of affected requests that a fault remembers."""


class Surroundings(Struct, frozen=True):
    """The parts of a broker that faults of its requests use."""

    interception: Interception
    clock: Clock
    topic_name: Callable[[bytes], str | None]
    """Function that returns the name of the topic with an id; None for an unknown id."""
    is_peer: Callable[[ApiKey | None, str | None], bool]
    """Function that returns whether a request of an API, with a client id, comes from another broker."""


class RequestFault(ABC):
    """A fault that is active from `begin` to `end`, or until it has affected as many requests as
    requested.
    """

    deed: ClassVar[str]
    """Effect on a request as a participle, such as `dropped`."""
    makes_answers: ClassVar[bool] = True
    """Whether affected requests do not get the broker's own answer."""

    def __init__(self, selection: Selection, chance: Chance, surroundings: Surroundings) -> None:
        self.selection = selection
        self.chance = chance
        self.surroundings = surroundings
        self.is_in_force = False
        """Whether further requests may be affected."""
        self.has_ended = False
        """Whether all effects are undone. A fault that withholds answers is not at its end after its last
        affected request.
        """
        self.began = 0.0
        """Time of the beginning, by the clock of the machine, in seconds since the epoch."""
        self.ended: float | None = None
        """Time after which no request was affected; None while the fault is active."""
        self.exchanges: deque[tuple[str, int]] = deque(maxlen=MOST_REMEMBERED)
        """The last affected requests: address and port of the client, and the correlation id."""

    @property
    def struck(self) -> int:
        """Number of requests affected."""
        return self.chance.struck

    def begin(self) -> None:
        """Start the fault, closer to the handlers than the faults that exist already."""
        self.is_in_force = True
        self.began = time.time()
        self.surroundings.interception.add(self)

    def end(self) -> None:
        """End the fault, and undo what can be undone; nothing happens if it has ended already."""
        self._retire()
        self.has_ended = True

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        """Serve a request, or apply the fault to it."""
        request = ReceivedRequest.read(frame) if self.is_in_force else None
        if request is None or not self._is_selected(request):
            return serve(connection, frame)
        if self.reads_bodies and not request.is_sound:
            return serve(connection, frame)  # refused there
        if self.needs_partitions:
            if fetch_sessions.has_unlisted_partitions(request):
                return fetch_sessions.refused(request)
            request = fetch_sessions.without_session(request)
        if not self.selection.has_body(request, self.surroundings.topic_name):
            return serve(connection, request.frame)
        if not self.chance.strikes():
            return serve(connection, request.frame)
        if self.chance.is_over:
            self._retire()
        peer = f"{connection.peer_host}:{connection.peer_port}"
        self.exchanges.append((peer, request.correlation_id))
        return self.strike(serve, connection, request)

    @property
    def reads_bodies(self) -> bool:
        """Whether the bodies of requests are decoded for this fault."""
        return self.selection.needs_body

    @property
    def needs_partitions(self) -> bool:
        """Whether the fault requires fetches to list all their partitions."""
        return self.selection.needs_body

    @abstractmethod
    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        """Return the answer to a request that the fault affects."""

    @property
    @abstractmethod
    def effect(self) -> str:
        """Effect on a request as a phrase, such as `fails with NOT_COORDINATOR`."""

    def __str__(self) -> str:
        limits = [f"{self.chance.rate:.0%} of them"] if self.chance.rate < 1 else []
        limits += [f"at most {self.chance.times}"] if self.chance.times else []
        return ", ".join([f"{self.selection} {self.effect}", *limits])

    def _is_selected(self, request: ReceivedRequest) -> bool:
        """Return whether the header of a request is selected. Requests of other brokers are selected only if
        the API is one between brokers, or the fault names the client id.
        """
        if not self.selection.has_header(request):
            return False
        return self.selection.names_peers or not self.surroundings.is_peer(request.key, request.client_id)

    def _retire(self) -> None:
        if self.is_in_force:
            self.ended = time.time()
        self.is_in_force = False
        self.surroundings.interception.remove(self)


class HeldAnswers:
    """The answers that one fault withholds, each until `release`, or until its connection closes."""

    def __init__(self) -> None:
        self._held: dict[Promise[Answer], Callable[[], Answer]] = {}

    def hold(self, connection: Connection, mode: Mode, make: Callable[[], Answer], size: int = 0) -> Waiting:
        """Return a withheld answer; `make` makes it at the release. `size` is the number of bytes of the
        frame that is kept for it.
        """
        promise: Promise[Answer] = Promise()
        self._held[promise] = make
        connection.when_closed(lambda: self._held.pop(promise, None))
        return Waiting(promise, mode, holds=size)

    def release(self, waiting: Waiting) -> None:
        """Send a withheld answer now; do nothing if it was sent already, or if its connection has closed."""
        make = self._held.pop(waiting.promise, None)
        if make is not None:
            waiting.promise.complete(make())

    def release_all(self) -> None:
        """Send all withheld answers now."""
        while self._held:
            promise = next(iter(self._held))
            promise.complete(self._held.pop(promise)())
