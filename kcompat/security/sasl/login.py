"""The port to the client's side of a SASL mechanism, with which a broker logs in to another one."""

from __future__ import annotations

from typing import Protocol


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
            SaslError: the server has not proven who it is, or does not follow the mechanism.
        """


class ClientMechanism(Protocol):
    """The client's side of one SASL mechanism, with the credential of this broker."""

    name: str
    """Registered name of the mechanism, such as `SCRAM-SHA-512`."""

    def begin(self) -> ClientNegotiation:
        """Return a negotiation for a new login."""
