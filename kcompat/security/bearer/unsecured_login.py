"""Unsecured tokens that a broker makes for its own logins, by the options of its JAAS login; for tests only.

Kafka's counterpart: `OAuthBearerUnsecuredLoginCallbackHandler`.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPTION: Final = "unsecuredLogin"
_LIFETIME_S: Final = 3600


def unsecured_tokens(options: Mapping[str, str], now_ms: Callable[[], int]) -> Callable[[], str]:
    """Return a function that makes a token, valid from now on for the lifetime of the options.

    Raises:
        ValueError: the options name no principal, or an option that must be a number is not one.
    """
    lifetime_s = float(options.get(f"{_OPTION}LifetimeSeconds") or _LIFETIME_S)
    given: dict[str, Any] = {}
    for name, text in options.items():
        kind, _, claim = name.removeprefix(_OPTION).partition("Claim_")
        if not claim or not name.startswith(_OPTION):
            continue
        match kind:
            case "String":
                given[claim] = text
            case "Number":
                given[claim] = float(text)
            case "List":  # the first character divides the others
                given[claim] = text[1:].split(text[0]) if text else []
    principal_claim = options.get(f"{_OPTION}PrincipalClaimName", "").strip() or "sub"
    if not given.get(principal_claim):
        raise ValueError(
            f"the option {_OPTION}StringClaim_{principal_claim} is needed, the name of this broker"
        )

    def make() -> str:
        issued_at_s = now_ms() / 1000
        claims = {"iat": issued_at_s, "exp": issued_at_s + lifetime_s, **given}
        return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."

    return make


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=").decode()
