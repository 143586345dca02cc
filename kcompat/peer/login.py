"""The login of this broker to another one by SASL: a handshake, then tokens, on an `Exchange`.

Kafka's counterpart: `SaslClientAuthenticator`. A login is repeated on the same connection before the session
ends that the peer has granted (KIP-368).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kcompat.peer.errors import PeerFault
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcompat.security.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.peer.call import Call
    from kcompat.protocol.message import Message
    from kcompat.security.sasl.mechanism import ClientMechanism

MOST_ROUNDS: Final = 10
"""Tokens of the server after which a login is given up; no mechanism here needs more than two."""


class LoginOwner(Protocol):
    """The connection on which a login is made."""

    def send(self, call: Call) -> None:
        """Send a request."""

    def logged_in(self, session_lifetime_ms: int) -> None:
        """Handle the complete login; 0 ms stand for a session without end."""

    def refused(self, reason: str) -> None:
        """Handle the failed login."""


class PeerLogin:
    """One login, from the handshake to its end."""

    def __init__(self, owner: LoginOwner, mechanism: ClientMechanism) -> None:
        self._owner = owner
        self._mechanism = mechanism
        self._negotiation = mechanism.begin()
        self._rounds = 0

    def begin(self) -> None:
        """Send the handshake."""
        self._ask(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(self._mechanism.name), self._shaken)

    def _shaken(self, response: Message) -> None:
        assert isinstance(response, SaslHandshakeResponse)
        if response.error_code:
            offered = ", ".join(response.mechanisms[:20])
            self._owner.refused(
                f"Client SASL mechanism '{self._mechanism.name}' not enabled in the server, "
                f"enabled mechanisms are [{offered}]"
            )
            return
        self._go_on(self._negotiation.first)

    def _answered(self, response: Message) -> None:
        assert isinstance(response, SaslAuthenticateResponse)
        self._rounds += 1
        if response.error_code:
            self._owner.refused(response.error_message or f"error {response.error_code}")
        elif self._rounds > MOST_ROUNDS:
            self._owner.refused(f"the login is not over after {MOST_ROUNDS} tokens")
        else:
            token, lifetime_ms = response.auth_bytes, response.session_lifetime_ms
            self._go_on(lambda: self._negotiation.respond(token), lifetime_ms)

    def _go_on(self, next_token: Callable[[], bytes | None], lifetime_ms: int = 0) -> None:
        try:
            token = next_token()
        except SaslError as error:
            self._owner.refused(f"{error}")
            return
        if token is None:
            self._owner.logged_in(lifetime_ms)
        else:
            self._ask(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(token), self._answered)

    def _ask(self, key: ApiKey, request: Message, settle: Callable[[Message], object]) -> None:
        self._owner.send(_LoginCall(key, request, settle, self._owner.refused))


class _LoginCall:
    """One request of a login, a `Call`."""

    newest: Final = 1 << 15

    def __init__(
        self,
        key: ApiKey,
        request: Message,
        settle: Callable[[Message], object],
        refused: Callable[[str], object],
    ) -> None:
        self.key = key
        self._settle = settle
        self._request = request
        self._refused = refused

    def make(self, version: int) -> Message:  # noqa: ARG002
        return self._request

    def settle(self, response: Message) -> None:
        self._settle(response)

    def fail(self, error: Exception) -> None:
        """Raise the error: failing to make a request of a login is a bug."""
        raise error

    def miss(self, fault: PeerFault) -> None:
        """End the login if the peer has no version of the request; else the connection has ended itself."""
        if fault is PeerFault.UNSUPPORTED:
            self._refused(f"the broker does not serve {self.key.name}, as Kafka does since 1.0")
