"""A blocking connection to one broker, on the sans-IO `Exchange` of brokers' own connections.

It learns the broker's versions, logs in, then carries requests in order; several may be in flight.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.admin.errors import JavaError, error_of_code, timed_out, unsupported
from kcompat.admin.sockets import BlockingSocket
from kcompat.peer.errors import PeerFault
from kcompat.peer.exchange import Exchange
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.admin.settings import ClientSettings
    from kcompat.peer.client import PeerSecurity
    from kcompat.protocol.message import Message
    from kcompat.protocol.messages.api_versions import ApiVersionsResponse

MAX_FRAME: Final = (1 << 31) - 1
ANY_VERSION: Final = 1 << 15
RENEWAL: Final = 0.85
"""Part of a session after which the client logs in again (`SaslClientAuthenticator`)."""


class Node(Struct, frozen=True):
    """A broker as a Metadata response names it. Bootstrap addresses have negative ids, as in Java's
    client.
    """

    id: int
    host: str
    port: int
    rack: str | None = None


class Versioned(Struct, frozen=True):
    """A request whose contents depend on the version in which it is sent."""

    key: ApiKey
    make: Callable[[int], Message]
    newest: int = ANY_VERSION
    """The highest version that may be sent."""


class LostConnectionError(Exception):
    """Error of a connection that could not be made or has ended; another attempt may succeed."""

    def __init__(self, fault: PeerFault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


class Pending:
    """A request that was sent or is about to be: the `Call` that an `Exchange` completes."""

    def __init__(self, request: Message | Versioned) -> None:
        self.make: Callable[[int], Message]
        if isinstance(request, Versioned):
            self.key, self.make, self.newest = request.key, request.make, request.newest
        else:
            message = request
            self.key, self.make, self.newest = ApiKey(message.api_key), lambda _: message, ANY_VERSION
        self.response: Any = None
        self.error: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a response or an error."""
        return self.response is not None or self.error is not None

    def settle(self, response: Message) -> None:
        self.response = response

    def fail(self, error: Exception) -> None:
        self.error = unsupported(f"{error}") if isinstance(error, ValueError) else error

    def miss(self, fault: PeerFault) -> None:
        if fault is PeerFault.UNSUPPORTED:
            self.error = unsupported(f"The node does not support {self.key.name}")
        else:
            self.error = LostConnectionError(fault, fault.value)


class BrokerConnection:
    """A connection from its first request to its end."""

    def __init__(self, node: Node, settings: ClientSettings, security: PeerSecurity) -> None:
        """Prepare the connection; the first request opens it."""
        self.node = node
        self._settings = settings
        self._exchange = Exchange(self, settings.client_id, None, security.mechanism)
        self._transport: BlockingSocket | None = None
        self._tls = security.tls
        self._is_ready = False
        self._renewal_s: float | None = None  # when to log in again
        self._unfinished: list[Pending] = []
        self._ending: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended, so that it can carry nothing any more."""
        return self._ending is not None

    def open(self, until_s: float = math.inf) -> None:
        """Connect, learn the versions and log in, unless that is done; `until_s` is the time of
        `time.monotonic` by which that must be done, if it is earlier than a setting says.

        Raises:
            LostConnectionError: the broker is not there, or does not answer.
            JavaError: TLS or the login failed, and another attempt would fail too.
        """
        setup_ms = self._settings.milliseconds("socket.connection.setup.timeout.ms")
        until_s = min(until_s, time.monotonic() + setup_ms / 1000)
        if self._transport is None:
            self._exchange.open(
                self._new_transport,
                (self.node.host, self.node.port),
                timeout_ms=setup_ms,
                max_frame=MAX_FRAME,
                tls=self._tls,
            )
        self._pump_until(lambda: self._is_ready, until_s)

    def version(self, key: ApiKey) -> int | None:
        """Return the version in which a request would be sent; None if there is none in common."""
        self.open()
        return self._exchange.version_of(key, ANY_VERSION)

    def served(self) -> dict[int, ApiVersionsResponse.ApiVersion]:
        """Return the lowest and the highest version of each API that the broker serves, by key."""
        self.open()
        return self._exchange.served

    def send(self, request: Message | Versioned) -> Pending:
        """Send a request without waiting for the response. Raises as `open` does."""
        self.open()
        self._renew_login()
        pending = Pending(request)
        self._exchange.send(pending)
        self._unfinished = [each for each in self._unfinished if not each.is_done]
        self._unfinished.append(pending)
        return pending

    def wait(self, pending: Pending, timeout_ms: float) -> Any:
        """Return the response of a request.

        Raises:
            LostConnectionError: the connection ended before the response.
            JavaError: no response came in time (the connection is closed then), or client and broker have no
                version of the request in common.
        """
        if not pending.is_done:
            try:
                self._pump_until(lambda: pending.is_done, time.monotonic() + timeout_ms / 1000)
            except LostConnectionError:
                if pending.error is None:
                    raise
        if pending.error is not None:
            raise pending.error
        return pending.response

    def ask(self, request: Message | Versioned, timeout_ms: float) -> Any:
        """Send a request and return its response. Raises as `send` and `wait` do."""
        return self.wait(self.send(request), timeout_ms)

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None and self._ending is None:
            self._ending = LostConnectionError(PeerFault.ABANDONED, "closed")
            self._exchange.close(PeerFault.ABANDONED)

    def _new_transport(self, *arguments: Any, **options: Any) -> BlockingSocket:
        self._transport = BlockingSocket(*arguments, **options)
        return self._transport

    def _pump_until(self, is_done: Callable[[], bool], until_s: float) -> None:
        while not is_done():
            if self._ending is not None:
                raise self._ending
            assert self._transport is not None
            if not self._transport.pump(until_s):
                self._ending = LostConnectionError(PeerFault.NO_ANSWER, "no response came in time")
                self._exchange.close(PeerFault.NO_ANSWER)

    def _renew_login(self) -> None:
        if self._renewal_s is None or time.monotonic() < self._renewal_s:
            return
        until_s = time.monotonic() + self._settings.milliseconds("request.timeout.ms") / 1000
        self._pump_until(lambda: all(each.is_done for each in self._unfinished), until_s)
        self._is_ready = False
        self._exchange.log_in()
        self._pump_until(lambda: self._is_ready, until_s)

    # Calls by the exchange

    def ready(self, session_lifetime_ms: int) -> None:
        self._is_ready = True
        self._renewal_s = None
        if session_lifetime_ms > 0:
            self._renewal_s = time.monotonic() + RENEWAL * session_lifetime_ms / 1000

    def over(self, fault: PeerFault) -> None:
        if self._ending is not None:
            return
        reason = None if self._transport is None else self._transport.fault
        match fault:
            case PeerFault.NOT_LOGGED_IN:
                self._ending = self._refused_login()
            case PeerFault.UNTRUSTED:
                self._ending = JavaError("SslAuthenticationException", "SSL handshake failed")
                self._ending.__cause__ = reason
            case _:
                self._ending = LostConnectionError(fault, f"{reason or fault.value}")

    def _refused_login(self) -> JavaError:
        reason = self._exchange.refusal or ""
        if reason.startswith("Client SASL mechanism "):
            return JavaError(
                "UnsupportedSaslMechanismException", reason, ErrorCode.UNSUPPORTED_SASL_MECHANISM
            )
        return error_of_code(ErrorCode.SASL_AUTHENTICATION_FAILED, reason)


def overdue(name: str) -> JavaError:
    """Return the error of a call whose time is over before a broker could be found for it."""
    return timed_out(f"Timed out waiting for a node assignment. Call: {name}")
