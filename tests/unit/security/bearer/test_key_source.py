"""When a key set is fetched, and which one is in use meanwhile."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.security.bearer.key_source import KeySource
from kcompat.security.bearer.refreshing import Backoff
from support.bearer_tokens import TokenIssuer, rsa_key
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Provider:
    """An identity provider that can be down, beside a clock that a test moves."""

    def __init__(self, refresh_ms: int = 3_600_000, backoff: Backoff = Backoff()) -> None:  # noqa: B008
        self.issuer = TokenIssuer()
        self.clock = VirtualClock()
        self.is_up = True
        self.fetches = 0
        self.held: list[Callable[[], object]] = []
        self.source = KeySource(
            "https://id.example/keys", self.fetch, refresh_ms, backoff, self.clock, self.held.append
        )

    def fetch(self) -> bytes:
        self.fetches += 1
        if not self.is_up:
            raise ConnectionRefusedError("refused")
        return self.issuer.key_set()

    def work(self) -> None:
        """Do what is to be done beside the event loop."""
        while self.held:
            self.held.pop(0)()
            self.clock.advance()

    def key_ids(self) -> set[str | None]:
        return {key.key_id for key in self.source.current.keys}


def test_the_key_set_is_fetched_at_the_start_and_at_each_interval() -> None:
    provider = Provider(refresh_ms=5000)
    provider.source.open()
    assert provider.key_ids() == set()
    provider.work()
    assert provider.key_ids() == {"first"}
    provider.issuer.keys = {"second": rsa_key(1)}
    provider.clock.advance(4999)
    assert not provider.held
    provider.clock.advance(1)
    provider.work()
    assert provider.key_ids() == {"second"}


def test_failures_are_retried_with_growing_pauses_and_the_last_set_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    provider = Provider(5000, Backoff(100, 350))
    provider.source.open()
    provider.work()
    provider.is_up = False
    provider.clock.advance(5000)
    provider.work()
    for pause in (100, 200, 350, 350):
        provider.clock.advance(pause - 1)
        assert not provider.held
        provider.clock.advance(1)
        provider.work()
    assert provider.key_ids() == {"first"}
    assert sum("cannot be fetched" in message for message in caplog.messages) == 1
    provider.is_up = True
    provider.clock.advance(350)
    provider.work()
    assert provider.fetches == 7
    provider.clock.advance(4999)
    assert not provider.held


def test_an_unknown_key_has_the_set_fetched_once_a_minute() -> None:
    provider = Provider()
    provider.source.open()
    provider.work()
    provider.clock.advance(1000)
    provider.issuer.keys["second"] = rsa_key(1)
    for _ in range(5):
        provider.source.key_missing("second")
    provider.work()
    assert (provider.fetches, provider.key_ids()) == (2, {"first", "second"})
    for _ in range(118):
        provider.clock.advance(500)
        provider.source.key_missing("third")
        provider.work()
    assert provider.fetches == 3
    provider.clock.advance(60_000)
    provider.source.key_missing("third")
    provider.work()
    assert provider.fetches == 4


def test_made_up_keys_cause_one_fetch_a_second_and_are_not_remembered() -> None:
    provider = Provider()
    provider.source.open()
    provider.work()
    for number in range(10_000):
        provider.clock.advance(1)
        provider.source.key_missing(f"key {number}")
        provider.work()
    assert provider.fetches <= 11
    assert len(provider.source._asked_for) <= 16


def test_a_document_that_is_no_key_set_changes_nothing() -> None:
    provider = Provider(refresh_ms=5000)
    provider.source.open()
    provider.work()
    provider.issuer.key_set = lambda **_: b"<html>"  # type: ignore[method-assign]
    provider.clock.advance(5000)
    provider.work()
    assert (provider.fetches, provider.key_ids()) == (2, {"first"})


def test_a_closed_source_ignores_what_is_being_fetched() -> None:
    provider = Provider()
    provider.source.open()
    provider.source.close()
    provider.work()
    provider.clock.advance(10**7)
    assert (provider.key_ids(), provider.held) == (set(), [])
