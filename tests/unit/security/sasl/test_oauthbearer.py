"""The exchange of OAUTHBEARER, with a validator that knows one token."""

from __future__ import annotations

import pytest

from kcompat.security.bearer.token import BearerToken, RefusedTokenError
from kcompat.security.principals import Principal
from kcompat.security.sasl.mechanism import Login, SaslError
from kcompat.security.sasl.oauthbearer import OAuthBearer, OAuthBearerClient, read_client_message


class OneToken:
    def validate(self, token: str) -> BearerToken:
        if token == "lowly":
            raise RefusedTokenError("the token lacks a required scope", "[write]")
        if token != "good":
            raise RefusedTokenError("the token has expired")
        return BearerToken("alice", 5000)


def answers(*tokens: bytes) -> tuple[list[bytes], Login | None]:
    negotiation = OAuthBearer(OneToken()).begin()
    return [negotiation.respond(token) for token in tokens], negotiation.login


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer good\x01\x01",
        b"n,a=alice,\x01auth=bearer   good\x01\x01",
        b"n,,\x01traceId=12 3\x01auth=Bearer good\x01more=a=b\x01\x01",
    ],
)
def test_a_valid_token_logs_its_bearer_in_until_it_expires(message: bytes) -> None:
    assert answers(message) == ([b""], Login(Principal("User", "alice"), 5000))


@pytest.mark.parametrize(
    ("token", "answer"),
    [
        (b"old", b'{"status":"invalid_token"}'),
        (b"lowly", b'{"status":"insufficient_scope", "scope":"[write]"}'),
    ],
)
def test_an_invalid_token_is_answered_and_the_login_fails_when_the_client_acknowledges_it(
    token: bytes, answer: bytes
) -> None:
    negotiation = OAuthBearer(OneToken()).begin()
    assert negotiation.respond(b"n,,\x01auth=Bearer " + token + b"\x01\x01") == answer
    assert negotiation.login is None
    with pytest.raises(SaslError) as raised:
        negotiation.respond(b"\x01")
    assert raised.value.message == answer.decode()
    assert negotiation.login is None


@pytest.mark.parametrize("message", [b"\\x01", b"", b"\x01\x01"])
def test_another_message_after_a_refused_token_is_malformed(message: bytes) -> None:
    with pytest.raises(SaslError) as raised:
        answers(b"n,,\x01auth=Bearer old\x01\x01", message)
    assert raised.value.message is None


def test_another_token_may_follow_a_refused_one() -> None:
    old, good = (b"n,,\x01auth=Bearer %b\x01\x01" % token for token in (b"old", b"good"))
    refused = b'{"status":"invalid_token"}'
    assert answers(old, old, good) == ([refused, refused, b""], Login(Principal("User", "alice"), 5000))


def test_the_name_of_another_than_the_bearer_is_refused() -> None:
    with pytest.raises(SaslError) as raised:
        answers(b"n,a=bob,\x01auth=Bearer good\x01\x01")
    assert raised.value.message == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the "
        "token's principal name (alice)"
    )


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"y,,\x01auth=Bearer good\x01\x01",
        b"n,a=,\x01auth=Bearer good\x01\x01",
        b"n,a=al=ice,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer go od\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer good\x01\x01\x01",
        b"n,,\x01auth=Bearer good\x01n0=1\x01\x01",
        b"n,,\x01auth=Bearer good\x01empty=\x01\x01",
        b"n,,\x01auth=Bearer good\x01name=\xc3\xa4\x01\x01",
        b"n,,\x01scope=Bearer good\x01\x01",
    ],
)
def test_a_malformed_first_message_fails_with_kafkas_general_text(message: bytes) -> None:
    with pytest.raises(SaslError) as raised:
        answers(message)
    assert raised.value.message is None


def test_a_long_malformed_message_is_refused_at_once() -> None:
    with pytest.raises(SaslError):
        answers(b"n,a=" + b"=2C" * 100_000 + b"\x01" * 50_000)
    with pytest.raises(SaslError):
        answers(b"n,,\x01" + b"a=b\x01" * 100_000)


@pytest.mark.parametrize(("token", "succeeds"), [("good", True), ("old", False)])
def test_the_clients_side_sends_its_token_and_acknowledges_a_refusal(token: str, succeeds: bool) -> None:
    server, client = OAuthBearer(OneToken()).begin(), OAuthBearerClient(lambda: token).begin()
    reply = client.respond(server.respond(client.first()))
    if succeeds:
        assert reply is None
        assert server.login is not None
        return
    assert reply == b"\x01"
    with pytest.raises(SaslError):
        server.respond(reply)


def test_a_message_shows_no_token() -> None:
    message = read_client_message(b"n,a=alice,\x01auth=Bearer good\x01\x01")
    assert (message.token, repr(message)) == ("good", "ClientMessage('alice')")


def test_a_message_is_refused_for_its_length_before_it_is_read() -> None:
    with pytest.raises(SaslError, match="more than 81920 bytes"):
        read_client_message(b"n,a=" + b"a" * 500_000 + b",\x01auth=Bearer e30.e30.\x01\x01")
