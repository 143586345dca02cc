"""Signed tokens: JSON Web Tokens with the signature of an identity provider, and the claims a broker checks.

Kafka's counterpart: `org.apache.kafka.common.security.oauthbearer.secured`, where jose4j decides whether a
token is valid. The library here checks the signature; the claims are compared below, on the broker's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jwt import PyJWS, PyJWTError
from msgspec import Struct

from kcompat.security.bearer.key_set import LONGEST_KEY_ID
from kcompat.security.bearer.token import (
    BearerToken,
    RefusedTokenError,
    expiry_ms,
    json_object,
    scopes,
    split_token,
    text_claim,
    time_claim_ms,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.bearer.key_set import KeySet
    from kcompat.security.bearer.token import Claims


class SignedSettings(Struct, frozen=True):
    """The claims that a valid token must have, from the keys `sasl.oauthbearer.*`."""

    audiences: tuple[str, ...] = ()
    """Audiences of which a token must name one. If there are none, a token must not name any."""
    issuer: str | None = None
    clock_skew_ms: int = 30_000
    scope_claim: str = "scope"
    subject_claim: str = "sub"


class Keys(Protocol):
    """The source of the keys by which signatures are checked."""

    current: KeySet
    """The current keys; none before the first set was fetched."""

    def key_missing(self, key_id: str) -> None:
        """Handle a token that names a key which is not in the current set."""


class SignedTokens:
    """The `TokenValidator` for signed tokens."""

    def __init__(self, settings: SignedSettings, keys: Keys, now_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._keys = keys
        self._now_ms = now_ms
        self._signatures = PyJWS()

    def validate(self, token: str) -> BearerToken:
        claims = json_object(self._signed_content(token))
        expires_at_ms = self._checked_expiry(claims)
        self._check_source(claims)
        given = scopes(claims, self._settings.scope_claim)
        if not all(given) or len(set(given)) < len(given):
            raise RefusedTokenError("the token has an empty scope, or one twice")
        return BearerToken(text_claim(claims, self._settings.subject_claim).strip(), expires_at_ms)

    def _signed_content(self, token: str) -> bytes:
        """Return the content of a token, after checking its signature."""
        header, _, _ = split_token(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if "crit" in header or "b64" in header:
            raise RefusedTokenError("the token has a critical header, of which none is known")
        if not isinstance(algorithm, str):
            raise RefusedTokenError("the token names no algorithm")
        if key_id is not None and (not isinstance(key_id, str) or len(key_id) > LONGEST_KEY_ID):
            raise RefusedTokenError("the token names no possible key")
        for candidate in self._keys.current.candidates(key_id, algorithm):
            try:
                content = self._signatures.decode(token, candidate.key, [algorithm])
            except (PyJWTError, ValueError, TypeError, RecursionError):
                continue  # another key may have the same name
            assert isinstance(content, bytes)
            return content
        if key_id is not None and all(key.key_id != key_id for key in self._keys.current.keys):
            self._keys.key_missing(key_id)
            raise RefusedTokenError("the token names a key that is not in the key set")
        raise RefusedTokenError("no key of the key set has made the signature of the token")

    def _checked_expiry(self, claims: Claims) -> int:
        now_ms, skew_ms = self._now_ms(), self._settings.clock_skew_ms
        expires_at_ms, issued_at_ms = expiry_ms(claims), time_claim_ms(claims, "iat")
        if issued_at_ms is None:
            raise RefusedTokenError("the claim iat is missing")
        if expires_at_ms <= now_ms - skew_ms:
            raise RefusedTokenError("the token has expired")
        if max(issued_at_ms, time_claim_ms(claims, "nbf") or 0) > now_ms + skew_ms:
            raise RefusedTokenError("the token is not valid yet")
        if expires_at_ms < issued_at_ms:
            raise RefusedTokenError("the token expires before it was issued")
        return expires_at_ms

    def _check_source(self, claims: Claims) -> None:
        expected = self._settings
        if expected.issuer is not None and claims.get("iss") != expected.issuer:
            raise RefusedTokenError("the token is of another issuer")
        named = claims.get("aud")
        audiences = [named] if isinstance(named, str) else named
        if audiences is None and not expected.audiences:
            return
        if not isinstance(audiences, list) or not any(each in expected.audiences for each in audiences):
            raise RefusedTokenError("the token is for another audience")
