"""Which unsecured tokens are valid, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.security.bearer.token import BearerToken, RefusedTokenError
from kcompat.security.bearer.unsecured import UnsecuredSettings, UnsecuredTokens
from support.bearer_tokens import encoded, unsecured_token

NOW_S = 1_700_000_000


def validate(token: str, **options: str) -> BearerToken:
    settings = UnsecuredSettings.read({f"unsecuredValidator{name}": text for name, text in options.items()})
    return UnsecuredTokens(settings, lambda: NOW_S * 1000).validate(token)


@pytest.mark.parametrize(
    "more",
    [{}, {"iat": NOW_S}, {"nbf": NOW_S + 1000}, {"iat": NOW_S - 0.5}, {"scope": ["a", "b"]}, {"aud": "x"}],
)
def test_a_token_needs_a_subject_and_an_expiry_and_no_more(more: dict[str, Any]) -> None:
    token = unsecured_token(sub="alice", exp=NOW_S + 1.5, **more)
    assert validate(token) == BearerToken("alice", NOW_S * 1000 + 1500)


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "alice"},
        {"exp": NOW_S + 1},
        {"sub": " ", "exp": NOW_S + 1},
        {"sub": 7, "exp": NOW_S + 1},
        {"sub": "a" * 4097, "exp": NOW_S + 1},
        {"sub": "alice", "exp": NOW_S},
        {"sub": "alice", "exp": "9999999999"},
        {"sub": "alice", "exp": True},
        {"sub": "alice", "exp": NOW_S + 9, "iat": NOW_S + 1},
        {"sub": "alice", "exp": NOW_S + 9, "iat": "now"},
        {"sub": "alice", "exp": NOW_S + 9, "scope": [1]},
        {"sub": "alice", "exp": NOW_S + 9, "scope": {"a": 1}},
    ],
)
def test_a_token_with_missing_or_impossible_claims_is_refused(claims: dict[str, Any]) -> None:
    if "scope" in claims:
        with pytest.raises(RefusedTokenError):
            validate(unsecured_token(**claims), RequiredScope="a")
        return
    with pytest.raises(RefusedTokenError):
        validate(unsecured_token(**claims))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b.c",
        unsecured_token({"alg": "RS256"}, sub="alice", exp=NOW_S + 1),
        unsecured_token({"typ": "JWT"}, sub="alice", exp=NOW_S + 1),
        unsecured_token(signature="c2ln", sub="alice", exp=NOW_S + 1),
        encoded(b'{"alg":"none"}') + "." + encoded(b"[]") + ".",
        encoded(b'{"alg":"none"}') + "." + encoded(b"[" * 60_000) + ".",
        encoded(b'{"alg":"none"}') + "." + "a" * 70_000 + ".",
        unsecured_token(sub="alice", exp=NOW_S + 1) + ".x.y",
    ],
)
def test_what_is_no_unsecured_token_is_refused(token: str) -> None:
    with pytest.raises(RefusedTokenError):
        validate(token)


def test_the_options_name_claims_scopes_and_the_tolerated_difference_of_clocks() -> None:
    token = unsecured_token(who="bob", roles=["read", " write "], exp=NOW_S - 2, iat=NOW_S - 9)
    named = {"PrincipalClaimName": "who", "ScopeClaimName": "roles", "AllowableClockSkewMs": "3000"}
    assert validate(token, RequiredScope=" write read", **named).principal_name == "bob"
    with pytest.raises(RefusedTokenError) as raised:
        validate(token, RequiredScope="write delete", **named)
    assert raised.value.scope == "[write, delete]"
    with pytest.raises(RefusedTokenError) as raised:
        validate(token, **{**named, "AllowableClockSkewMs": "2000"})
    assert raised.value.scope is None


@pytest.mark.parametrize("text", ["-1", "soon", "1.5"])
def test_a_difference_of_clocks_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unsecuredValidatorAllowableClockSkewMs"):
        UnsecuredSettings.read({"unsecuredValidatorAllowableClockSkewMs": text})


def test_an_expiry_beyond_all_bounds_is_the_latest_time_there_is() -> None:
    assert validate(unsecured_token(sub="alice", exp=10**300)).expires_at_ms == 2**63 - 1
