"""OAUTHBEARER (RFC 7628, KIP-255): a login with a bearer token, and extensions of the client (KIP-342).

A token that is not valid is answered with a text in JSON. The login fails when the client acknowledges that
text with one byte of the value 1. Any other message is read as a first message, so another token may follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from kcompat.security.bearer.token import LONGEST_TOKEN, RefusedTokenError
from kcompat.security.principals import USER, Principal
from kcompat.security.sasl.mechanism import Login, SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.bearer.token import TokenValidator

OAUTHBEARER: Final = "OAUTHBEARER"
SEPARATOR: Final = b"\x01"
LONGEST_MESSAGE: Final = LONGEST_TOKEN + 16 * 1024
"""Bytes of the longest first message of a client."""

_KEY: Final = rb"[A-Za-z]+"
_VALUE: Final = rb"[\x21-\x7e \t\r\n]+"
_FIRST_MESSAGE: Final = re.compile(
    rb"n,(?:a=((?:[\x01-+\x2d-<>-\x7f]++|=2C|=3D)+))?,\x01((?:%b=%b\x01)*)\x01" % (_KEY, _VALUE)
)
_AUTH: Final = re.compile(rb"(\w+) +([-_~+/.a-zA-Z0-9]+=*)")


class ClientMessage(Struct, frozen=True):
    """The content of a client's first message. Its `repr` does not show the token."""

    authorization_id: str
    """Name that the client wants to act as; empty for the principal of the token."""
    token: str

    def __repr__(self) -> str:
        return f"ClientMessage({self.authorization_id!r})"


class OAuthBearer:
    """The mechanism for one listener, a `Mechanism`."""

    name = OAUTHBEARER

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator

    def begin(self) -> OAuthBearerNegotiation:
        return OAuthBearerNegotiation(self._validator)


class OAuthBearerNegotiation:
    """The server's side of one login, a `Negotiation`."""

    def __init__(self, validator: TokenValidator) -> None:
        self.login: Login | None = None
        self._validator = validator
        self._refusal: SaslError | None = None  # raised when the client has acknowledged the answer

    def respond(self, token: bytes) -> bytes:
        if self._refusal is not None and token == SEPARATOR:
            raise self._refusal
        self._refusal = None
        message = read_client_message(token)
        try:
            bearer = self._validator.validate(message.token)
        except RefusedTokenError as error:
            answer = _error_status(error)
            self._refusal = SaslError(f"{error}", answer)
            return answer.encode()
        if message.authorization_id not in ("", bearer.principal_name):
            raise SaslError(
                "the client asks for another name than its token has",
                "Authentication failed: Client requested an authorization id "
                f"({message.authorization_id}) that is different from the token's principal name "
                f"({bearer.principal_name})",
            )
        self.login = Login(Principal(USER, bearer.principal_name), bearer.expires_at_ms)
        return b""


class OAuthBearerClient:
    """A `ClientMechanism` with the current token of a client."""

    name = OAUTHBEARER

    def __init__(self, token: Callable[[], str]) -> None:
        """Prepare the mechanism; `token` returns a token that is valid now, or raises SaslError."""
        self._token = token

    def begin(self) -> OAuthBearerClientNegotiation:
        return OAuthBearerClientNegotiation(self._token)


class OAuthBearerClientNegotiation:
    """The client's side of one login, a `ClientNegotiation`."""

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def first(self) -> bytes:
        return b"n,,\x01auth=Bearer %b\x01\x01" % self._token().encode()

    def respond(self, token: bytes) -> bytes | None:
        return SEPARATOR if token else None  # a token of the server says why the login will fail


def read_client_message(data: bytes) -> ClientMessage:
    """Return the content of a client's first message. As in Kafka, its extensions need only be well-formed.

    Raises:
        SaslError: the message is malformed.
    """
    if len(data) > LONGEST_MESSAGE:
        raise SaslError(f"a first message of OAUTHBEARER of more than {LONGEST_MESSAGE} bytes")
    match = _FIRST_MESSAGE.fullmatch(data)
    if match is None:
        raise SaslError("a malformed first message of OAUTHBEARER")
    pairs = dict(pair.split(b"=", 1) for pair in match[2].split(SEPARATOR) if pair)
    auth = _AUTH.fullmatch(pairs.get(b"auth", b""))
    if auth is None or auth[1].lower() != b"bearer":
        raise SaslError("a first message of OAUTHBEARER without a bearer token")
    return ClientMessage((match[1] or b"").decode(), auth[2].decode())


def _error_status(error: RefusedTokenError) -> str:
    """Return the answer to an invalid token, identical to Kafka's."""
    if error.scope is None:
        return '{"status":"invalid_token"}'
    return f'{{"status":"insufficient_scope", "scope":{msgspec.json.encode(error.scope).decode()}}}'
