"""Messages and tokens of hostile clients: they log nobody in, and raise nothing unexpected."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kcompat.security.bearer.key_set import KeySet
from kcompat.security.bearer.refreshing import DocumentError
from kcompat.security.bearer.signed import SignedSettings, SignedTokens
from kcompat.security.bearer.token import RefusedTokenError, TokenValidator
from kcompat.security.bearer.unsecured import UnsecuredSettings, UnsecuredTokens
from kcompat.security.sasl.mechanism import SaslError
from kcompat.security.sasl.oauthbearer import OAuthBearer
from support.bearer_tokens import TokenIssuer, encoded

NOW_MS = 1_700_000_000_000
ISSUER = TokenIssuer()
VALID = ISSUER.token(sub="alice", iat=NOW_MS // 1000, exp=NOW_MS // 1000 + 60)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
NAMES = ("sub", "exp", "iat", "nbf", "aud", "iss", "scope")
CLAIMS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | st.integers(0, 2**40) for name in ("sub", "exp", "iat", "nbf", "aud", "iss", "scope")
    },
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["none", "None", "HS256", "RS256", "ES256", "RS999", ""]) | JSON,
        "kid": st.sampled_from(["first", "second", "f" * 2000]) | JSON,
        "crit": JSON,
        "b64": JSON,
    },
)


class NoOtherKeys:
    """The key set of the issuer, which never changes."""

    current = KeySet.parse(ISSUER.key_set())

    def key_missing(self, key_id: str) -> None:
        """Know no other key."""


SIGNED = SignedTokens(SignedSettings(), NoOtherKeys(), lambda: NOW_MS)
UNSECURED = UnsecuredTokens(UnsecuredSettings(), lambda: NOW_MS)


def token(header: Any, claims: Any, signature: str) -> str:
    parts = [encoded(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, signature])


def is_refused(validator: TokenValidator, text: str) -> bool:
    try:
        validator.validate(text)
    except RefusedTokenError:
        return True
    return False


@given(HEADERS | JSON, CLAIMS | JSON, st.sampled_from(["", "AAAA", VALID.rpartition(".")[2]]))
def test_no_made_up_token_passes_for_a_signed_one(header: Any, claims: Any, signature: str) -> None:
    assert is_refused(SIGNED, token(header, claims, signature))


@given(HEADERS | JSON, CLAIMS | JSON, st.sampled_from(["", "AAAA"]))
def test_a_made_up_token_is_valid_without_a_signature_or_refused(
    header: Any, claims: Any, signature: str
) -> None:
    if not is_refused(UNSECURED, token(header, claims, signature)):
        assert (header["alg"], signature) == ("none", "")
        assert claims["exp"] > NOW_MS / 1000


@given(st.integers(0, len(VALID) - 1), st.characters(max_codepoint=0x7F))
def test_a_signed_token_with_one_other_character_is_refused(at: int, other: str) -> None:
    changed = VALID[:at] + other + VALID[at + 1 :]
    assert is_refused(SIGNED, changed) == (changed != VALID)


@given(st.lists(st.binary(max_size=60) | st.just(b"\x01"), max_size=3))
def test_no_random_message_logs_in(messages: list[bytes]) -> None:
    negotiation = OAuthBearer(SIGNED).begin()
    with suppress(SaslError):
        for message in messages:
            negotiation.respond(message)
    assert negotiation.login is None


@given(st.text("na=,\x01uthBerk 2CD", max_size=40))
def test_no_message_of_the_right_characters_logs_in(message: str) -> None:
    negotiation = OAuthBearer(SIGNED).begin()
    with suppress(SaslError):
        negotiation.respond(message.encode())
    assert negotiation.login is None


@given(st.binary(max_size=200) | JSON.map(lambda keys: json.dumps({"keys": keys}).encode()))
def test_any_document_is_a_key_set_or_an_error(document: bytes) -> None:
    with suppress(DocumentError):
        KeySet.parse(document)
