"""Unsecured tokens that a broker makes for itself."""

from __future__ import annotations

import pytest

from kcompat.security.bearer.token import BearerToken
from kcompat.security.bearer.unsecured import UnsecuredSettings, UnsecuredTokens
from kcompat.security.bearer.unsecured_login import unsecured_tokens

NOW_MS = 1_700_000_000_000


def test_a_token_says_what_the_options_say_and_is_valid_for_an_hour() -> None:
    token = unsecured_tokens(
        {
            "unsecuredLoginStringClaim_who": "broker",
            "unsecuredLoginListClaim_scope": "|read|write",
            "unsecuredLoginPrincipalClaimName": "who",
        },
        lambda: NOW_MS,
    )()
    settings = UnsecuredSettings(principal_claim="who", required_scopes=("read", "write"))
    expected = BearerToken("broker", NOW_MS + 3_600_000)
    assert UnsecuredTokens(settings, lambda: NOW_MS).validate(token) == expected


def test_claims_that_are_numbers_and_the_lifetime_may_be_given() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "broker",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginNumberClaim_iat": f"{NOW_MS // 1000 - 5}",
    }
    token = unsecured_tokens(options, lambda: NOW_MS)()
    valid = UnsecuredTokens(UnsecuredSettings(), lambda: NOW_MS)
    assert valid.validate(token).expires_at_ms == NOW_MS + 60_000


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unsecuredLoginNumberClaim_sub": "one"},
        {"unsecuredLoginStringClaim_sub": "broker", "unsecuredLoginLifetimeSeconds": "long"},
    ],
)
def test_options_without_a_name_or_with_a_wrong_number_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"unsecuredLoginStringClaim_sub|float"):
        unsecured_tokens(options, lambda: NOW_MS)
