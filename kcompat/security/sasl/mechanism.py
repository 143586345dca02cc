"""The ports to both sides of a SASL mechanism: negotiations that end in a login or a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.security.principals import Principal


class SaslError(Exception):
    """A refused login. `str(error)` is the reason for the broker's log; it contains no secret.

    `message` is the text for the client, None for Kafka's general one ("Authentication failed during
    authentication due to invalid credentials with SASL mechanism ..."). The message must not reveal whether a
    user exists (Kafka's `SaslAuthenticationException`).
    """

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason)
        self.message = message


class Login(Struct, frozen=True):
    """The outcome of a successful negotiation."""

    principal: Principal
    expires_at_ms: int | None = None
    """Time in ms since the epoch at which the credential ends; None if it does not end."""


class Negotiation(Protocol):
    """The server's side of one login by one mechanism."""

    login: Login | None
    """The login once the client has proven its identity; None before."""

    def respond(self, token: bytes) -> bytes:
        """Take the client's next token and return the server's, which may be empty.

        Raises:
            SaslError: the login is refused.
        """


class Mechanism(Protocol):
    """The server's side of one SASL mechanism of one listener."""

    name: str
    """Registered name of the mechanism, such as `SCRAM-SHA-512`."""

    def begin(self) -> Negotiation:
        """Return a negotiation for a new login."""


class ClientNegotiation(Protocol):
    """The client's side of one login."""

    def first(self) -> bytes:
        """Return the client's first token.

        Raises:
            SaslError: the client has no credential now.
        """

    def respond(self, token: bytes) -> bytes | None:
        """Take the server's next token, and return the client's; None if the login is complete.

        Raises:
            SaslError: the server has not proven its identity, or violates the mechanism.
        """


class ClientMechanism(Protocol):
    """The client's side of one SASL mechanism, with the credential of this broker."""

    name: str
    """Registered name of the mechanism, such as `SCRAM-SHA-512`."""

    def begin(self) -> ClientNegotiation:
        """Return a negotiation for a new login."""
