"""The port to a validator of bearer tokens, and the parts of a JSON Web Token that every validator reads."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct

Claims: TypeAlias = dict[str, Any]

LONGEST_TOKEN: Final = 64 * 1024
"""Maximum number of characters of a token. The tokens of identity providers have a few thousand."""
LONGEST_NAME: Final = 4096
"""Maximum number of characters of the principal that a token names, since names are remembered for many
clients.
"""
END_OF_TIME_MS: Final = 2**63 - 1
"""Latest time in ms since the epoch that Kafka's protocol can carry."""

_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")


class RefusedTokenError(Exception):
    """A token that does not authenticate its bearer. `str(error)` is for the log and holds no secret.

    `scope` is the scope that the token should have had; None if the token is refused for another reason.
    """

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


class BearerToken(Struct, frozen=True):
    """The content of a valid token that matters to a broker."""

    principal_name: str
    expires_at_ms: int
    """Time in ms since the epoch."""


class TokenValidator(Protocol):
    """A validator of bearer tokens (the part of Kafka's `AuthenticateCallbackHandler` on a broker)."""

    def validate(self, token: str) -> BearerToken:
        """Return the content of a valid token.

        Raises:
            RefusedTokenError: the token is not valid at this listener now.
        """


def split_token(token: str) -> tuple[Claims, str, str]:
    """Return the header of a JSON Web Token, its encoded claims, and its encoded signature.

    Raises:
        RefusedTokenError: the token is too long, does not have three parts, or its header is not a JSON
            object.
    """
    if len(token) > LONGEST_TOKEN:
        raise RefusedTokenError(f"a token of more than {LONGEST_TOKEN} characters")
    parts = token.split(".")
    if len(parts) != 3:
        raise RefusedTokenError("a token that has not three parts")
    header, claims, signature = parts
    return json_object(decoded(header)), claims, signature


def decoded(part: str) -> bytes:
    """Return the bytes of one part of a token.

    Kafka reads unsecured tokens in the alphabet of base64, other programs use that of base64url; both are
    accepted.

    Raises:
        RefusedTokenError: the part is not base64.
    """
    text = part.rstrip("=").translate(_STANDARD_ALPHABET)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise RefusedTokenError("a token with a part that is not base64") from None


def json_object(data: bytes) -> Claims:
    """Return a JSON object.

    Raises:
        RefusedTokenError: the data is something else.
    """
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RefusedTokenError("a token with a part that is no JSON object") from None


def text_claim(claims: Claims, name: str) -> str:
    """Return a claim that must be a text, not blank and not longer than `LONGEST_NAME`.

    Raises:
        RefusedTokenError: the claim is missing or something else.
    """
    value = claims.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RefusedTokenError(f"the claim {name} is missing or no text")
    if len(value) > LONGEST_NAME:
        raise RefusedTokenError(f"the claim {name} has more than {LONGEST_NAME} characters")
    return value


def time_claim_ms(claims: Claims, name: str) -> int | None:
    """Return a claim in seconds since the epoch as milliseconds; None if the token has no such claim.

    Raises:
        RefusedTokenError: the claim is not a number, or is below zero.
    """
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise RefusedTokenError(f"the claim {name} is no time")
    return END_OF_TIME_MS if value >= END_OF_TIME_MS / 1000 else round(value * 1000)


def expiry_ms(claims: Claims) -> int:
    """Return the time at which a token expires, in ms since the epoch.

    Raises:
        RefusedTokenError: the token does not expire, which Kafka does not accept.
    """
    expires_at_ms = time_claim_ms(claims, "exp")
    if expires_at_ms is None:
        raise RefusedTokenError("the claim exp is missing")
    return expires_at_ms


def scopes(claims: Claims, name: str) -> list[str]:
    """Return the scopes of a token, trimmed: a claim that is one text is one scope, as in Kafka.

    Raises:
        RefusedTokenError: the claim is neither a text nor a list of texts.
    """
    value = claims.get(name)
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise RefusedTokenError(f"the claim {name} is neither a text nor a list of texts")
    return [each.strip() for each in values]
