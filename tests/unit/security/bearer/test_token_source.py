"""When this broker gets a token for its own logins, and what it does without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.security.bearer.refreshing import Backoff, DocumentError
from kcompat.security.bearer.token_source import (
    RefreshWindow,
    TokenSource,
    credentials_form,
    token_of_response,
)
from kcompat.security.sasl.mechanism import SaslError
from support.bearer_tokens import unsecured_token

if TYPE_CHECKING:
    from collections.abc import Callable

LIFE_S = 1000


class Provider:
    """An identity provider whose tokens live for 1,000 seconds, and that can be down."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000
        self.is_up = True
        self.issued: list[str] = []
        self.held: list[Callable[[], object]] = []
        self.source = TokenSource(
            "https://id.example/token",
            self.fetch,
            lambda: self.now_ms,
            backoff=Backoff(100, 10_000),
            window=RefreshWindow(),
            chance=lambda: 0.5,
            beside=self.held.append,
        )

    def fetch(self) -> str:
        if not self.is_up:
            raise ConnectionRefusedError("refused")
        self.issued.append(unsecured_token(sub="broker", exp=self.now_ms / 1000 + LIFE_S))
        return self.issued[-1]

    def work(self) -> None:
        """Do what is to be done beside the event loop."""
        while self.held:
            self.held.pop(0)()


def test_the_first_login_fails_and_has_a_token_fetched() -> None:
    provider = Provider()
    for _ in range(3):
        with pytest.raises(SaslError, match="no token of https"):
            provider.source.token()
    assert len(provider.held) == 1
    provider.work()
    assert [provider.source.token()] == provider.issued


def test_a_token_is_fetched_again_before_it_expires_and_serves_meanwhile() -> None:
    provider = Provider()
    with pytest.raises(SaslError):
        provider.source.token()
    provider.work()
    provider.now_ms += 699_000  # 300 seconds before the end
    provider.source.token()
    assert not provider.held
    provider.now_ms += 1000
    assert provider.source.token() == provider.issued[0]
    provider.work()
    assert provider.source.token() == provider.issued[1]


def test_failures_are_retried_after_growing_pauses_until_the_token_expires() -> None:
    provider = Provider()
    with pytest.raises(SaslError):
        provider.source.token()
    provider.work()
    provider.is_up = False
    provider.now_ms += 900_000
    for pause in (100, 200, 400):
        assert provider.source.token() == provider.issued[0]
        provider.work()
        provider.now_ms += pause - 1
        provider.source.token()
        assert not provider.held
        provider.now_ms += 1
    provider.now_ms += 100_000
    with pytest.raises(SaslError, match="refused"):
        provider.source.token()


@pytest.mark.parametrize("document", ["", "opaque", unsecured_token(sub="broker"), "a.b.c"])
def test_what_is_no_token_with_an_expiry_is_not_sent(document: str) -> None:
    source = TokenSource(
        "x", lambda: document, lambda: 0, backoff=Backoff(), window=RefreshWindow(), chance=lambda: 0.0,
        beside=lambda work: work(),
    )  # fmt: skip
    with pytest.raises(SaslError):
        source.token()


@pytest.mark.parametrize(("life_s", "chance", "after_s"), [(1000, 0, 700), (10_000, 1, 8500), (100, 0, 80)])
def test_the_refresh_is_within_the_window_of_kafkas_settings(life_s: int, chance: int, after_s: int) -> None:
    assert RefreshWindow().refresh_at_ms(5000, 5000 + 1000 * life_s, chance) == 5000 + 1000 * after_s


def test_the_request_and_the_response_of_an_identity_provider() -> None:
    assert credentials_form(None) == b"grant_type=client_credentials"
    assert credentials_form("a b") == b"grant_type=client_credentials&scope=a+b"
    assert token_of_response(b'{"access_token": " abc ", "expires_in": 5}') == "abc"
    for body in (b"", b"[]", b"{}", b'{"access_token": 5}', b'{"access_token": ""}', b"\xff"):
        with pytest.raises(DocumentError):
            token_of_response(body)
