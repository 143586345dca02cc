"""Client to another broker: many requests in flight on one connection, which the first request opens.

Without a connection, requests wait for the next attempt to connect, and fail if that attempt fails. So a
caller that retries at once is no faster than the attempts: the first is immediate, the next follows after
50 ms, and each pause doubles, up to a second. A request that gets no response in time closes its connection,
since responses come in order. Kafka's counterparts: `NetworkClient`, `InterBrokerSendThread`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.peer.backoff import backoff_ms
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.peer.exchange import Exchange
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from ssl import SSLContext

    from kcompat.clock import Clock, Timer
    from kcompat.net.outbound import Connect
    from kcompat.peer.releases import Release
    from kcompat.protocol.message import Message
    from kcompat.security.sasl.mechanism import ClientMechanism

logger = logging.getLogger(__name__)

RECONNECT_BACKOFF_MS: Final = 50
RECONNECT_BACKOFF_MAX_MS: Final = 1000

ANY_VERSION: Final = 1 << 15

RENEWAL: Final = (0.85, 0.95)
"""Range of the share of a session after which the client logs in again; drawn at random
(`SaslClientAuthenticator`).
"""


class PeerSecurity(Struct, frozen=True):
    """The security of connections to other brokers, by their common listener."""

    tls: SSLContext | None = None
    """Context of a TLS client; None if the listener does not speak TLS."""
    mechanism: ClientMechanism | None = None
    """SASL mechanism to log in by; None if the listener asks for no login."""


OPEN: Final = PeerSecurity()
"""Security of a listener with neither TLS nor SASL."""


class PeerSettings(Struct, frozen=True):
    """The settings of connections to other brokers."""

    release: Release
    """Release whose request versions are the newest sent: `inter.broker.protocol.version`."""
    setup_timeout_ms: int
    """Timeout in ms of the first attempt to connect; it doubles with each failure, up to
    `setup_timeout_max_ms`.
    """
    setup_timeout_max_ms: int
    max_frame: int
    """Bytes of the largest response accepted."""
    receive_buffer: int = -1
    """Socket receive buffer in bytes; -1 leaves it to the system."""
    security: PeerSecurity = OPEN


class PeerClient:
    """At most one connection to one broker, and the calls that wait for responses."""

    def __init__(
        self,
        name: str,
        client_id: str,
        address: Callable[[], tuple[str, int] | None],
        settings: Callable[[], PeerSettings],
        ports: tuple[Connect, Clock, Random],
    ) -> None:
        """Make a client without a connection. `name` stands for the peer in log messages.

        `address` and `settings` are called at each attempt to connect; `address` returns None while the
        address is unknown.
        """
        self.name = name
        self._client_id = client_id
        self._address = address
        self._settings = settings
        self._connect, self._clock, self._random = ports
        self._exchange: Exchange | None = None
        self.is_ready = False
        """Whether requests can be sent on a connection now."""
        self.is_closed = False
        """Whether the client is closed: every call fails."""
        self._setup: Timer | None = None  # timeout until the connection is ready
        self._setup_ms = 0.0
        self._session: Timer | None = None  # time of the next login on the connection
        self._pause: Timer | None = None  # pause before the next attempt
        self._failures = 0  # number of connections in a row that ended without a response
        self._failed_setups = 0  # number of attempts in a row that were not accepted
        self._ready_at_ms: int | None = None  # when the connection was ready for the first time
        self._last_fault = PeerFault.UNKNOWN  # fault of the last attempt
        self._waiting: dict[_Call, None] = {}  # calls that wait for a connection, in order
        self._lost: Callable[[PeerFault], object] | None = None
        self._found: Callable[[], object] | None = None

    def call(self, request: Message, timeout_ms: float) -> Promise[Any]:
        """Send a request in the newest version that both sides have, and promise the response, or
        `PeerError`.

        Views in the response (`records`) stay valid as long as the caller keeps them.
        """
        return self.ask(ApiKey(request.api_key), lambda _: request, timeout_ms)

    def ask(
        self, key: ApiKey, make: Callable[[int], Message], timeout_ms: float, newest: int = ANY_VERSION
    ) -> Promise[Any]:
        """Send the request `make(version)` and promise its response, as `call` does.

        The version is the newest one that both sides have, and at most `newest`.
        """
        call = _Call(self, key, make, newest)
        if self.is_closed:
            call.miss(PeerFault.ABANDONED)
            return call.promise
        call.timer = self._clock.call_later(timeout_ms, partial(self._overdue, call))
        if self.is_ready and self._exchange is not None:
            self._exchange.send(call)
        else:
            self._waiting[call] = None
            self._seek()
        return call.promise

    def stay_connected(
        self, lost: Callable[[PeerFault], object], found: Callable[[], object] = lambda: None
    ) -> None:
        """Connect now, and again whenever the connection is lost, until `close`.

        Calls `found` at each connection, and `lost` at each loss and each failed attempt. So the end of the
        peer's process is reported when it happens.
        """
        self._lost, self._found = lost, found
        self._seek()

    def disconnect(self) -> None:
        """Close the connection and fail its calls; connect to the current address if calls still wait."""
        exchange = self._exchange
        self._forget_exchange()
        if exchange is not None:
            exchange.close(PeerFault.ABANDONED)
        self._failures = self._failed_setups = 0
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._waiting or self._lost is not None:
            self._seek()

    def close(self) -> None:
        """Close the client: pending calls fail, and so does each later call."""
        self.is_closed = True
        self._lost = self._found = None
        self._miss_waiting(PeerFault.ABANDONED)
        self.disconnect()

    # Connecting

    def _seek(self) -> None:
        """Connect, unless there is a connection or a pause."""
        if self._exchange is not None or self._pause is not None or self.is_closed:
            return
        address = self._address()
        if address is None:
            self._failed(PeerFault.UNKNOWN)
            return
        settings = self._settings()
        timeout_ms = backoff_ms(
            self._failed_setups, settings.setup_timeout_ms, settings.setup_timeout_max_ms, self._random
        )
        self._exchange = Exchange(self, self._client_id, settings.release, settings.security.mechanism)
        # ApiVersions and the login have as much time again: the system of a stopped process still accepts
        # connections.
        self._setup_ms = timeout_ms
        self._setup = self._clock.call_later(2 * timeout_ms, self._give_up)
        self._exchange.open(
            self._connect,
            address,
            timeout_ms=timeout_ms,
            max_frame=settings.max_frame,
            receive_buffer=settings.receive_buffer,
            tls=settings.security.tls,
        )

    def _log_in_again(self) -> None:
        """Log in before the session ends. Requests wait meanwhile: the peer takes no others then."""
        exchange = self._exchange
        assert exchange is not None
        self.is_ready = False
        self._session = None
        self._setup = self._clock.call_later(self._setup_ms, self._give_up)
        exchange.log_in()

    def _paused(self) -> None:
        self._pause = None
        if self._waiting or self._lost is not None:
            self._seek()

    def ready(self, session_lifetime_ms: int) -> None:
        exchange = self._exchange
        assert exchange is not None
        self._stop_setup()
        self.is_ready = True
        if session_lifetime_ms > 0:
            renewal_ms = session_lifetime_ms * self._random.uniform(*RENEWAL)
            self._session = self._clock.call_later(renewal_ms, self._log_in_again)
        if self._ready_at_ms is None:
            self._ready_at_ms = self._clock.now_ms()
            if self._found is not None:
                self._found()
        waiting, self._waiting = self._waiting, {}
        for call in waiting:
            if self._exchange is exchange:
                exchange.send(call)
            else:
                call.miss(PeerFault.ABANDONED)  # the callback of an earlier call has closed the connection

    def over(self, fault: PeerFault) -> None:
        exchange = self._exchange
        assert exchange is not None
        lived_ms = 0 if self._ready_at_ms is None else self._clock.now_ms() - self._ready_at_ms
        was_good = exchange.is_proven or lived_ms >= RECONNECT_BACKOFF_MAX_MS
        if was_good:
            self._failures = 0
        self._failed_setups = 0 if exchange.is_connected else self._failed_setups + 1
        self._forget_exchange()
        if exchange.refusal is not None and not self._failures:
            logger.warning("%s: %s: %s", self.name, fault.value, exchange.refusal)
        self._failed(fault, at_once=was_good)

    def _forget_exchange(self) -> None:
        self._stop_setup()
        if self._session is not None:
            self._session.cancel()
            self._session = None
        self._exchange = None
        self.is_ready = False
        self._ready_at_ms = None

    def _failed(self, fault: PeerFault, *, at_once: bool = False) -> None:
        """Fail the waiting calls, and pause before the next attempt unless `at_once`."""
        self._last_fault = fault
        if not at_once:
            if not self._failures:
                logger.info("%s: %s", self.name, fault.value)
            wait = backoff_ms(self._failures, RECONNECT_BACKOFF_MS, RECONNECT_BACKOFF_MAX_MS, self._random)
            self._pause = self._clock.call_later(wait, self._paused)
            self._failures += 1
        self._miss_waiting(fault)
        if self._lost is not None:
            self._lost(fault)
            self._seek()

    def _miss_waiting(self, fault: PeerFault) -> None:
        waiting, self._waiting = self._waiting, {}
        for call in waiting:
            call.miss(fault)

    # Answers

    def _overdue(self, call: _Call) -> None:
        if call in self._waiting:
            del self._waiting[call]
            call.miss(PeerFault.TIMED_OUT if self._pause is None else self._last_fault)
            return
        self._give_up()

    def _give_up(self) -> None:
        """End a connection to a peer that does not answer."""
        exchange = self._exchange
        assert exchange is not None
        self.over(PeerFault.NO_ANSWER)
        exchange.close(PeerFault.NO_ANSWER)

    def _stop_setup(self) -> None:
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None

    def answered(self) -> None:
        """Note that the connection has carried a response, so that its end causes no pause."""
        if self._exchange is not None:
            self._exchange.is_proven = True


class _Call:
    """A request of a client with its promise and its timer; implements `call.Call`."""

    __slots__ = ("_client", "key", "make", "newest", "promise", "timer")

    def __init__(self, client: PeerClient, key: ApiKey, make: Callable[[int], Message], newest: int) -> None:
        self._client = client
        self.key = key
        self.newest = newest
        self.make = make
        self.promise: Promise[Any] = Promise()
        self.timer: Timer | None = None

    def settle(self, response: Message) -> None:
        self._client.answered()
        self._stop_timer()
        self.promise.complete(response)

    def fail(self, error: Exception) -> None:
        self._stop_timer()
        self.promise.fail(error)

    def miss(self, fault: PeerFault) -> None:
        self.fail(PeerError(fault, self._client.name))

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
