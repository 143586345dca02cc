"""Authentication of the clients of a SASL listener, before any of their requests reaches the dispatcher.

A `LoginGate` is the frame handler of each connection to the listener until the client has logged in. Then
the dispatcher is, or a `SessionGate` for a session that ends (KIP-368). So a connection whose session does
not end costs nothing more per request than one without SASL.

Failures (Kafka's `SaslServerAuthenticator` and `Selector`)
- A refused login is answered after `connection.failed.authentication.delay.ms`. The connection closes 100 ms
  after the answer. If the protocol has no answer for the failure, it closes after the delay.
- Garbage, an unexpected request and a frame that is too large close the connection at once.
- Each is logged with its reason (`kcompat.notices`).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api import api_versions
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.notices.causes import LOGIN_BROKEN, LOGIN_REFUSED, SESSION_EXPIRED
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.sasl.exchange import LoginRefusedError, LoginSession, SaslExchange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import Services
    from kcompat.net.answers import Answer, Connection, FrameHandler
    from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from kcompat.security.sasl.exchange import OfferedMechanism

REFUSED: Final = "refused login"
"""Reason of closed connections whose client did not log in."""
EXPIRED: Final = "expired session"
"""Reason of closed connections whose session has ended."""

LINGER_MS: Final = 100
"""Milliseconds from the answer to a refused login until the connection closes, unless the answer itself came
earlier. Clients such as kafka-python 3 drop an answer that they read together with the end of the stream."""

_SASL_HANDSHAKE: Final = int(ApiKey.SASL_HANDSHAKE).to_bytes(2, "big")


class LoginSettings(Struct, frozen=True):
    """The settings of a SASL listener for clients that have not logged in."""

    offered: Mapping[str, OfferedMechanism]
    """The mechanisms of the listener, by name."""
    max_frame: int
    """`sasl.server.max.receive.size`: bytes of the largest frame."""
    failure_delay_ms: int
    """`connection.failed.authentication.delay.ms`: time until a refusal is answered."""


class LoginGate:
    """Frame handler of the connections to one listener while their clients log in. Each connection's
    `context` is its exchange.
    """

    def __init__(self, settings: LoginSettings, services: Services, dispatcher: FrameHandler) -> None:
        self.max_frame: int | None = settings.max_frame
        self._settings = settings
        self._services = services
        self._dispatcher = dispatcher
        self._session_gate = SessionGate(self, services, dispatcher)

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        """Take the next frame of a login."""
        if len(frame) > self._settings.max_frame:  # a frame that comes whole may be larger than announced
            return _close(connection, f"a frame of {len(frame)} bytes before the login is complete")
        exchange = connection.context
        if not isinstance(exchange, SaslExchange):
            exchange = connection.context = self._exchange()
        try:
            response = exchange.receive(frame, self._services.server.clock.now_ms())
        except ProtocolViolation as violation:
            return _close(connection, str(violation))
        except LoginRefusedError as refusal:
            return self._refuse(connection, refusal)
        if exchange.session is not None:
            self._admit(connection, exchange.session)
        return response

    def ends_wait(self, _frame: memoryview) -> bool:
        """Return whether a frame ends the wait of the Fetch before it. A SaslHandshake, which renews the
        session, does.
        """
        return True

    def renew(self, connection: Connection, session: LoginSession, elapsed_ms: int) -> None:
        """Let a client log in again; its next frame is the SaslHandshake."""
        session.renewed_at_ms = elapsed_ms
        connection.context = self._exchange(session)
        connection.serve_with(self)

    def _exchange(self, previous: LoginSession | None = None) -> SaslExchange:
        return SaslExchange(self._settings.offered, self._list_versions, previous)

    def _list_versions(self, version: int, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
        if request is None:
            return api_versions.unsupported(self._services.server.served)
        return api_versions.list_versions(self._services, version, request)

    def _admit(self, connection: Connection, session: LoginSession) -> None:
        connection.principal = session.login.principal
        if session.lifetime_ms is None:
            connection.context = None
            connection.serve_with(self._dispatcher)
        else:
            session.began_at_ms = self._services.server.clock.elapsed_ms()
            connection.context = session
            connection.serve_with(self._session_gate)

    def _refuse(self, connection: Connection, refusal: LoginRefusedError) -> Answer:
        """Return the answer to a refused login, which comes after the delay; then the connection closes."""
        connection.complain(LOGIN_REFUSED, reason=refusal)
        call_later, delay_ms = self._services.server.clock.call_later, self._settings.failure_delay_ms
        later: Promise[Answer] = Promise()

        def close() -> None:
            connection.close(REFUSED)

        def answer() -> None:
            later.complete(refusal.response)
            call_later(min(LINGER_MS, delay_ms), close)

        connection.mute(inf)  # no frame is handed on any more
        call_later(delay_ms, close if refusal.response is None else answer)
        return Waiting(later, Mode.PIPELINED)


class SessionGate:
    """Frame handler of the connections whose session ends. Each connection's `context` is its session."""

    max_frame: int | None = None

    def __init__(self, login_gate: LoginGate, services: Services, dispatcher: FrameHandler) -> None:
        self._login_gate = login_gate
        self._dispatcher = dispatcher
        self._elapsed_ms = services.server.clock.elapsed_ms

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        """Serve a request, renew the session at a SaslHandshake, or close if the session has ended."""
        session = connection.context
        assert isinstance(session, LoginSession)
        elapsed_ms = self._elapsed_ms()
        if frame[:2] == _SASL_HANDSHAKE and session.may_renew(elapsed_ms):
            self._login_gate.renew(connection, session, elapsed_ms)
            return self._login_gate.on_frame(connection, frame)
        if session.has_ended(elapsed_ms):
            connection.complain(SESSION_EXPIRED, principal=connection.principal)
            connection.close_behind(EXPIRED)
            return CLOSE
        return self._dispatcher.on_frame(connection, frame)

    def ends_wait(self, frame: memoryview) -> bool:
        """Return whether a frame ends the wait of the fetch before it."""
        return self._dispatcher.ends_wait(frame)


def _close(connection: Connection, reason: str) -> Answer:
    connection.complain(LOGIN_BROKEN, reason=reason)
    connection.close_behind(REFUSED)
    return CLOSE
