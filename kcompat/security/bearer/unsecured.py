"""Unsecured tokens: JSON Web Tokens without a signature, which any client can make. They are for tests only.

Kafka's counterpart: `OAuthBearerUnsecuredValidatorCallbackHandler`, the default for OAUTHBEARER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from kcompat.security.bearer.token import (
    BearerToken,
    RefusedTokenError,
    decoded,
    expiry_ms,
    json_object,
    scopes,
    split_token,
    text_claim,
    time_claim_ms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.security.bearer.token import Claims

_OPTION: Final = "unsecuredValidator"


class UnsecuredSettings(Struct, frozen=True):
    """The options of a JAAS login for unsecured tokens."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """Return the settings among the options of a JAAS login; an empty option counts as absent.

        Raises:
            ValueError: an option has an invalid value.
        """
        given = {name: options.get(_OPTION + name, "").strip() for name in _NAMES}
        skew = given["AllowableClockSkewMs"] or "0"
        if not skew.isdecimal() or not skew.isascii():
            raise ValueError(f"{_OPTION}AllowableClockSkewMs={skew} is no number of milliseconds")
        return cls(
            given["PrincipalClaimName"] or "sub",
            given["ScopeClaimName"] or "scope",
            tuple(given["RequiredScope"].split()),
            int(skew),
        )


_NAMES: Final = ("PrincipalClaimName", "ScopeClaimName", "RequiredScope", "AllowableClockSkewMs")


class UnsecuredTokens:
    """The `TokenValidator` for unsecured tokens; signed ones are refused, since nothing checks them."""

    def __init__(self, settings: UnsecuredSettings, now_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._now_ms = now_ms

    def validate(self, token: str) -> BearerToken:
        header, encoded, signature = split_token(token)
        if header.get("alg") != "none" or signature:
            raise RefusedTokenError("an unsecured token must have the algorithm none and no signature")
        claims = json_object(decoded(encoded))
        expires_at_ms = self._checked_expiry(claims)
        self._check_scopes(claims)
        return BearerToken(text_claim(claims, self._settings.principal_claim), expires_at_ms)

    def _checked_expiry(self, claims: Claims) -> int:
        issued_at_ms, expires_at_ms = time_claim_ms(claims, "iat"), expiry_ms(claims)
        now_ms, skew_ms = self._now_ms(), self._settings.clock_skew_ms
        if now_ms - skew_ms >= expires_at_ms:
            raise RefusedTokenError("the token has expired")
        if issued_at_ms is not None and issued_at_ms > now_ms + skew_ms:
            raise RefusedTokenError("the token was issued in the future")
        if issued_at_ms is not None and expires_at_ms <= issued_at_ms:
            raise RefusedTokenError("the token expires before it was issued")
        return expires_at_ms

    def _check_scopes(self, claims: Claims) -> None:
        given, required = scopes(claims, self._settings.scope_claim), self._settings.required_scopes
        if not set(required) <= set(given):
            raise RefusedTokenError("the token lacks a required scope", f"[{', '.join(required)}]")
