from __future__ import annotations

import time
from contextlib import suppress
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.security.principals import Principal
from kcompat.security.sasl.mechanism import SaslError
from kcompat.security.sasl.plain import Plain

PLAIN = Plain({"alice": "secret", "bob": "other", "ünal": "pässword"})
WRONG = "Authentication failed: Invalid username or password"


def refusal(token: bytes) -> SaslError:
    negotiation = PLAIN.begin()
    with pytest.raises(SaslError) as refused:
        negotiation.respond(token)
    assert negotiation.login is None
    return refused.value


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0secret", "alice"),
        (b"alice\0alice\0secret", "alice"),
        ("\0ünal\0pässword".encode(), "ünal"),
    ],
)
def test_the_right_password_logs_in(token: bytes, name: str) -> None:
    negotiation = PLAIN.begin()
    assert negotiation.respond(token) == b""
    assert negotiation.login is not None
    assert negotiation.login.principal == Principal("User", name)
    assert negotiation.login.expires_at_ms is None


@pytest.mark.parametrize(
    "token", [b"\0alice\0wrong", b"\0nobody\0secret", b"\0alice\0secret ", b"\0bob\0secret"]
)
def test_a_wrong_password_and_an_unknown_user_are_refused_alike(token: bytes) -> None:
    error = refusal(token)
    assert (error.message, str(error)) == (WRONG, "unknown user or wrong password")


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"alice",
        b"\0alice",
        b"\0alice\0secret\0",
        b"\0alice\0secret\0more",
        b"\0\0secret",
        b"\0alice\0",
        b"\0alice\0" + b"x" * 1025,
        b"\0" + b"x" * 1025 + b"\0secret",
        b"x" * 1025 + b"\0alice\0secret",
    ],
)
def test_a_malformed_token_is_refused_with_the_general_message(token: bytes) -> None:
    assert refusal(token).message is None


def test_a_client_may_not_ask_for_the_rights_of_another_user() -> None:
    message = refusal(b"bob\0alice\0secret").message
    assert message is not None
    assert "authorization id that is different from username" in message
    assert refusal(b"bob\0alice\0wrong").message == WRONG


def test_passwords_are_not_kept() -> None:
    assert "secret" not in repr(vars(PLAIN))


def test_only_the_options_of_users_count() -> None:
    plain = Plain.from_options({"username": "admin", "password": "x", "user_admin": "x", "user_": "y"})
    assert plain.is_password_of("admin", "x")
    assert not plain.is_password_of("username", "admin")


@pytest.mark.thorough("the answers are compared in tests/wire/test_hostile_logins.py")
def test_a_wrong_user_and_a_wrong_password_take_the_same_time() -> None:
    plain = Plain({f"user-{number}": f"secret-{number}" for number in range(100)})
    tokens = {"password": b"\0user-50\0secret-51", "user": b"\0usex-50\0secret-51"}
    times: dict[str, list[int]] = {kind: [] for kind in tokens}
    for _ in range(10_000):
        for kind, token in tokens.items():
            negotiation = plain.begin()
            began = time.perf_counter_ns()
            with suppress(SaslError):
                negotiation.respond(token)
            times[kind].append(time.perf_counter_ns() - began)
    ratio = median(times["user"]) / median(times["password"])
    assert 0.9 < ratio < 1.1


@given(st.binary(max_size=200))
def test_no_token_fails_otherwise_than_by_a_refusal(token: bytes) -> None:
    negotiation = PLAIN.begin()
    with suppress(SaslError):
        negotiation.respond(token)
    assert negotiation.login is None


@given(st.text(), st.text())
def test_each_user_has_one_password(user: str, password: str) -> None:
    assert Plain({"alice": "secret"}).is_password_of(user, password) == (
        (user, password) == ("alice", "secret")
    )
