"""Delegation tokens in Kafka's znodes."""

from __future__ import annotations

import pytest

from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.cluster.token_nodes import decode_token, encode_token, token_path
from kcompat.security.principals import USER, Principal
from kcompat.security.tokens import DelegationToken
from support.payloads import json_of

TOKEN = DelegationToken(
    "id",
    Principal(USER, "CN=a b"),
    Principal(USER, "ü"),
    (Principal(USER, "c:d"), Principal("G", "e")),
    1,
    3,
    2,
)
PAYLOAD = {
    "version": 3,
    "owner": "User%3ACN%3Da%20b",
    "tokenRequester": "User%3A%C3%BC",
    "renewers": ["User%3Ac%3Ad", "G%3Ae"],
    "issueTimestamp": 1,
    "maxTimestamp": 3,
    "expiryTimestamp": 2,
    "tokenId": "id",
}


def test_a_token_is_written_and_read_as_kafka_does() -> None:
    data = encode_token(TOKEN)
    assert json_of(data) == PAYLOAD
    assert decode_token(data) == TOKEN
    assert token_path("id") == "/delegation_token/tokens/id"


def test_an_old_token_was_asked_for_by_its_owner() -> None:
    data = (
        b'{"version":1,"owner":"User%3Aa","renewers":[],"issueTimestamp":1,"maxTimestamp":3,'
        b'"expiryTimestamp":2,"tokenId":"id"}'
    )
    owner = Principal(USER, "a")
    assert decode_token(data) == DelegationToken("id", owner, owner, (), 1, 3, 2)


@pytest.mark.parametrize("change", [(b'"User%3ACN', b'"User'), (b"3A", b""), (b'"id"', b"7"), (b"}", b"")])
def test_damage_is_named(change: tuple[bytes, bytes]) -> None:
    with pytest.raises(DamagedZnodeError):
        decode_token(encode_token(TOKEN).replace(*change))
