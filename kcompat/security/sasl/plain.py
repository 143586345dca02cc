"""PLAIN (RFC 4616), both sides: the client sends its name and its password in clear.

A refused login takes the same work and gives the same answer whether or not the user exists.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from kcompat.security.principals import USER, Principal
from kcompat.security.sasl.mechanism import Login, SaslError

if TYPE_CHECKING:
    from collections.abc import Mapping

USER_OPTION: Final = "user_"
"""Prefix of the options of a JAAS line that hold passwords; the name of the user follows."""
MAX_PART: Final = 1024
"""Largest number of bytes of a name or a password."""
PARTS: Final = 3
"""Number of texts in a token: authorization id, name, password."""


class Plain:
    """The mechanism PLAIN with a fixed set of users."""

    name = "PLAIN"

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """Make the mechanism from the password of each user. Only digests of the passwords are kept."""
        self._digests = {user: _digest(password) for user, password in passwords.items()}
        self._of_nobody = secrets.token_bytes(sha256().digest_size)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Plain:
        """Return the mechanism with the users of the options of a JAAS line."""
        return cls({
            name.removeprefix(USER_OPTION): password
            for name, password in options.items()
            if name.startswith(USER_OPTION)
        })  # fmt: skip

    def begin(self) -> PlainNegotiation:
        """Return a negotiation for a new login."""
        return PlainNegotiation(self)

    def is_password_of(self, user: str, password: str) -> bool:
        """Return whether a user has this password; the time that this takes does not depend on the user."""
        return hmac.compare_digest(_digest(password), self._digests.get(user, self._of_nobody))


class PlainNegotiation:
    """The server's side of one login by PLAIN: one token."""

    def __init__(self, mechanism: Plain) -> None:
        self._mechanism = mechanism
        self.login: Login | None = None

    def respond(self, token: bytes) -> bytes:
        """Check the name and the password in the client's token; return nothing for the client.

        Raises:
            SaslError: the token is malformed, or the login is refused. The messages are Kafka's.
        """
        parts = token.split(b"\0", PARTS)
        if len(parts) != PARTS:
            raise SaslError("the token of PLAIN does not have three parts")
        if any(len(part) > MAX_PART for part in parts):
            raise SaslError(f"a part of the token of PLAIN has more than {MAX_PART} bytes")
        requested, user, password = (part.decode("utf-8", "replace") for part in parts)
        if not user or not password:
            raise SaslError("the token of PLAIN has no name or no password")
        if not self._mechanism.is_password_of(user, password):
            message = "Authentication failed: Invalid username or password"
            raise SaslError("unknown user or wrong password", message)
        if requested not in ("", user):
            message = (
                "Authentication failed: Client requested an authorization id that is different from username"
            )
            raise SaslError("the client asks for the rights of another user", message)
        self.login = Login(Principal(USER, user))
        return b""


def _digest(password: str) -> bytes:
    return sha256(password.encode("utf-8", "surrogatepass")).digest()


class PlainClient:
    """The client's side, with one user's password."""

    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def begin(self) -> _PlainNegotiation:
        return _PlainNegotiation(self._message)


class _PlainNegotiation:
    def __init__(self, message: bytes) -> None:
        self._message = message

    def first(self) -> bytes:
        return self._message

    def respond(self, token: bytes) -> None:  # noqa: ARG002
        return None
