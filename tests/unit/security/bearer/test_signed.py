"""Which signed tokens are valid: their signatures, and the claims of each."""

from __future__ import annotations

import json
from typing import Any

import jwt
import pytest

from kcompat.security.bearer.key_set import KeySet
from kcompat.security.bearer.refreshing import DocumentError
from kcompat.security.bearer.signed import SignedSettings, SignedTokens
from kcompat.security.bearer.token import BearerToken, RefusedTokenError
from support.bearer_tokens import TokenIssuer, elliptic_key, encoded, rsa_key, unsecured_token

NOW_S = 1_700_000_000
TIMES: dict[str, Any] = {"iat": NOW_S - 10, "exp": NOW_S + 60}


class HeldKeys:
    """A key set that is known from the start."""

    def __init__(self, document: bytes) -> None:
        self.current = KeySet.parse(document)
        self.missing: list[str] = []

    def key_missing(self, key_id: str) -> None:
        self.missing.append(key_id)


def validator(keys: HeldKeys | None = None, **settings: Any) -> SignedTokens:
    return SignedTokens(
        SignedSettings(**settings), keys or HeldKeys(TokenIssuer().key_set()), lambda: NOW_S * 1000
    )


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS512"])
@pytest.mark.parametrize("key_id", ["first", None])
def test_a_token_of_each_algorithm_of_an_rsa_key_is_valid(algorithm: str, key_id: str | None) -> None:
    token = TokenIssuer().token(key_id, algorithm, sub="alice", **TIMES)
    assert validator().validate(token) == BearerToken("alice", (NOW_S + 60) * 1000)


def test_the_key_is_chosen_by_its_id_and_its_kind() -> None:
    issuer = TokenIssuer()
    issuer.keys |= {"second": rsa_key(1), "curve": elliptic_key()}
    valid = validator(HeldKeys(issuer.key_set()))
    for key_id, algorithm in (("first", "RS256"), ("second", "RS256"), ("curve", "ES256")):
        token = issuer.token(key_id, algorithm, sub="alice", **TIMES)
        assert valid.validate(token).principal_name == "alice"
    token = issuer.token("second", headers={"kid": "first"}, sub="alice", **TIMES)
    with pytest.raises(RefusedTokenError, match="no key"):
        valid.validate(token)


def test_a_token_with_an_unknown_key_is_refused_and_the_key_asked_for() -> None:
    issuer = TokenIssuer()
    keys = HeldKeys(issuer.key_set())
    issuer.keys["newer"] = rsa_key(1)
    with pytest.raises(RefusedTokenError, match="not in the key set"):
        validator(keys).validate(issuer.token("newer", sub="alice", **TIMES))
    assert keys.missing == ["newer"]
    with pytest.raises(RefusedTokenError):
        validator(keys).validate(issuer.token("newer", headers={"kid": "k" * 1001}, sub="alice", **TIMES))
    assert keys.missing == ["newer"]


def test_without_a_key_set_no_token_is_valid() -> None:
    keys = HeldKeys(b'{"keys": []}')
    for key_id in ("first", None):
        with pytest.raises(RefusedTokenError):
            validator(keys).validate(TokenIssuer().token(key_id, sub="alice", **TIMES))


def test_a_token_without_signature_or_with_a_changed_one_is_refused() -> None:
    valid, token = validator(), TokenIssuer().token(sub="alice", **TIMES)
    header, claims, signature = token.split(".")
    forged = encoded(json.dumps({"sub": "root", **TIMES}).encode())
    public = rsa_key(0).public_key().public_numbers()
    for bad in (
        unsecured_token(sub="alice", **TIMES),
        unsecured_token({"alg": "None", "kid": "first"}, sub="alice", **TIMES),
        unsecured_token({"kid": "first"}, sub="alice", **TIMES),
        f"{header}.{claims}.",
        f"{header}.{forged}.{signature}",
        f"{header}.{claims}.{signature[:-4]}AAAA",
        f"{claims}.{header}.{signature}",
        f"{token}.{signature}",
        jwt.encode({"sub": "root", **TIMES}, str(public.n).rjust(64, "0"), "HS256", headers={"kid": "first"}),
        TokenIssuer().token(headers={"crit": ["x"], "x": 1}, sub="alice", **TIMES),
        TokenIssuer().token(headers={"kid": "first", "crit": []}, sub="alice", **TIMES),
        "a" * 70_000,
    ):
        with pytest.raises(RefusedTokenError):
            valid.validate(bad)


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": None},
        {"sub": 7},
        {"sub": " "},
        {"exp": None},
        {"exp": NOW_S - 30},
        {"exp": -1},
        {"iat": None},
        {"iat": NOW_S + 31},
        {"nbf": NOW_S + 31},
        {"iat": NOW_S - 1, "exp": NOW_S - 2},
        {"aud": "kafka"},
        {"scope": ["a", "a"]},
        {"scope": ["a", ""]},
        {"scope": 3},
    ],
)
def test_a_token_with_missing_or_impossible_claims_is_refused(claims: dict[str, Any]) -> None:
    given = {"sub": "alice", **TIMES, **claims}
    token = TokenIssuer().token(**{name: value for name, value in given.items() if value is not None})
    with pytest.raises(RefusedTokenError):
        validator().validate(token)


def test_clocks_may_differ_by_the_tolerated_time() -> None:
    token = TokenIssuer().token(sub="alice", iat=NOW_S + 30, nbf=NOW_S + 30, exp=NOW_S + 31)
    assert validator().validate(token).principal_name == "alice"
    late = TokenIssuer().token(sub="alice", iat=NOW_S - 60, exp=NOW_S - 29)
    assert validator().validate(late).expires_at_ms == (NOW_S - 29) * 1000
    with pytest.raises(RefusedTokenError):
        validator(clock_skew_ms=0).validate(late)


def test_the_issuer_and_one_of_the_audiences_have_to_match() -> None:
    valid = validator(issuer="https://id.example", audiences=("kafka", "all"))
    for audience, issuer, is_valid in (
        ("kafka", "https://id.example", True),
        (["other", "all"], "https://id.example", True),
        ("other", "https://id.example", False),
        ([], "https://id.example", False),
        (None, "https://id.example", False),
        ("kafka", "https://id.example/", False),
        ("kafka", None, False),
    ):
        given = {"sub": "alice", **TIMES, "aud": audience, "iss": issuer}
        token = TokenIssuer().token(**{name: value for name, value in given.items() if value is not None})
        if is_valid:
            assert valid.validate(token).principal_name == "alice"
        else:
            with pytest.raises(RefusedTokenError):
                valid.validate(token)


def test_the_subject_and_the_scope_may_have_other_names() -> None:
    token = TokenIssuer().token(client="bob", roles="read", scope=["a", "a"], **TIMES)
    valid = validator(subject_claim="client", scope_claim="roles")
    assert valid.validate(token).principal_name == "bob"


def test_keys_that_no_signature_may_be_checked_with_are_passed_over() -> None:
    issuer = TokenIssuer()
    token = issuer.token(sub="alice", **TIMES)
    row = json.loads(issuer.key_set())["keys"][0]
    short = TokenIssuer()
    short.keys["first"] = rsa_key(0, 1024)
    for bad in (
        {**row, "use": "enc"},
        {**row, "key_ops": ["encrypt"]},
        {**row, "alg": "RS512"},
        {**row, "kty": "oct", "k": "c2VjcmV0"},
        {**row, "n": "!"},
        {"kid": "first"},
        {"kid": "first", "kty": "EC", "crv": "P-256", "x": 1, "y": "AA"},
        json.loads(short.key_set())["keys"][0],
    ):
        keys = HeldKeys(json.dumps({"keys": [bad]}).encode())
        with pytest.raises(RefusedTokenError):
            validator(keys).validate(token)
    good = HeldKeys(json.dumps({"keys": [{"kty": "??"}, {**row, "use": "sig", "alg": "RS256"}]}).encode())
    assert validator(good).validate(token).principal_name == "alice"


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [1]}', b"\xff", b"[" * 10**5]
)
def test_a_document_that_is_no_key_set_is_an_error(document: bytes) -> None:
    with pytest.raises(DocumentError):
        KeySet.parse(document)
