"""Delegation tokens in the store: every broker hears of changes, and logs clients in with them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.delegation_tokens import DelegationTokens
from kcompat.cluster.token_nodes import CHANGES, TOKENS, encode_token
from kcompat.protocol.errors import ErrorCode
from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256
from kcompat.security.principals import USER, Principal
from kcompat.security.scram_keys import credential_of_password
from kcompat.security.tokens import DelegationToken
from kcompat.store.interface import StoreError
from kcompat.store.process_store import ProcessStore
from support.controllers import SmallDisk, answer
from support.eventually import limit_s
from support.payloads import json_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from kcompat.store.process_session import ProcessSession

OWNER = Principal(USER, "owner")
SECRET = "the secret key"
NOW_MS = 1000


def token(token_id: str, expires_at_ms: int = 2000) -> DelegationToken:
    """Return a token of OWNER."""
    return DelegationToken(token_id, OWNER, OWNER, (), 0, 3000, expires_at_ms)


async def until(condition: Callable[[], bool]) -> None:
    """Let the brokers read until a condition holds."""
    async with asyncio.timeout(limit_s(10)):
        while not condition():  # noqa: ASYNC110 - no one event tells of several reads
            await asyncio.sleep(0)


class CountedTokens(DelegationTokens):
    """Tokens that count how often they list those in the store."""

    listed = 0
    fails_to_list = False
    """Whether the store refuses the next listing."""

    hears_of_changes = True

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        if self.hears_of_changes:
            await super().read_changed(notifications)

    async def _list(self) -> list[str]:
        self.listed += 1
        if self.fails_to_list:
            self.fails_to_list = False
            raise StoreError("no listing")
        return await super()._list()


class Fixture:
    """A store and brokers."""

    def __init__(self, store: ProcessStore) -> None:
        self.store = store
        self.now_ms = NOW_MS
        self.sessions: list[ProcessSession] = []
        self._brokers: list[CountedTokens] = []

    async def broker(self, secret_key: str | None = SECRET) -> CountedTokens:
        session = await self.store.session()
        self.sessions.append(session)
        tokens = CountedTokens(session, secret_key, lambda: b"key", lambda: self.now_ms, Random(1))
        self._brokers.append(tokens)
        await tokens.start()
        return tokens

    async def close(self) -> None:
        for broker in self._brokers:
            await broker.stop()
        await self.store.close()


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    fixture = Fixture(ProcessStore.in_memory(lambda: NOW_MS))
    yield fixture
    await fixture.close()


async def test_a_new_token_reaches_every_broker_without_its_secret(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    assert await answer(one.create(token("id"))) == token("id")
    assert one.all() == [token("id")]
    await until(lambda: two.all() == [token("id")])
    assert (await fixture.broker()).all() == [token("id")]
    nodes = fixture.store.tree.nodes
    secret = hmac.digest(SECRET.encode(), b"id", hashlib.sha512)
    assert one.hmac("id") == secret
    assert json_of(nodes[f"{TOKENS}/id"].data)["tokenId"] == "id"
    assert nodes[f"{CHANGES}/token_change_0000000000"].data == b"id"
    stored = b"".join(node.data or b"" for node in nodes.values())
    assert secret not in stored
    assert b64encode(secret) not in stored


async def test_a_change_is_decided_on_what_is_stored(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    await answer(one.create(token("id")))
    await answer(one.change(one.hmac("id"), lambda each: replace(each, expires_at_ms=2500)))
    seen: list[DelegationToken] = []

    def decide(stored: DelegationToken) -> DelegationToken:
        seen.append(stored)
        return replace(stored, expires_at_ms=stored.expires_at_ms + 1)

    # Whether or not the second broker has heard of the token yet.
    assert await answer(two.change(two.hmac("id"), decide)) == token("id", 2501)
    assert seen == [token("id", 2500)]
    await until(lambda: one.all() == [token("id", 2501)])


async def test_a_token_that_another_broker_changes_in_between_is_decided_again(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    await answer(one.create(token("id")))
    both = [
        broker.change(broker.hmac("id"), lambda each: replace(each, expires_at_ms=each.expires_at_ms + 1))
        for broker in (one, two)
    ]
    for promise in both:
        await answer(promise)
    await until(lambda: one.all() == two.all() == [token("id", 2002)])


async def test_requests_with_unknown_secrets_share_what_they_read(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    made = one.create(token("id"))
    two.listed = 0
    unknown = [two.change(bytes([number]), lambda _: None) for number in range(100)]
    await answer(made)
    late = two.change(two.hmac("id"), lambda each: replace(each, expires_at_ms=2500))
    assert {await answer(each) for each in unknown} == {ErrorCode.DELEGATION_TOKEN_NOT_FOUND}
    assert await answer(late) == token("id", 2500)
    assert two.listed <= 3


async def test_a_request_does_not_share_a_listing_that_has_failed(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    two.hears_of_changes = False
    await answer(one.create(token("id")))
    two.fails_to_list = True
    failing = two.change(b"unknown", lambda _: None)
    late = two.change(two.hmac("id"), lambda each: replace(each, expires_at_ms=2500))
    assert await answer(failing) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert await answer(late) == token("id", 2500)


async def test_a_removed_token_is_gone_everywhere(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    for name in ("id", "other"):
        await answer(one.create(token(name)))
    await until(lambda: len(two.all()) == 2)
    assert two.find(SCRAM_SHA_256, "id") is not None
    assert await answer(two.change(two.hmac("id"), lambda _: None)) is None
    await until(lambda: one.all() == two.all() == [token("other")])
    assert one.find(SCRAM_SHA_256, "id") is None
    gone = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    for broker in (one, two):
        assert await answer(broker.change(broker.hmac("id"), lambda _: None)) is gone
        assert await answer(broker.change(b"another secret", lambda _: None)) is gone


async def test_a_refusal_changes_nothing(fixture: Fixture) -> None:
    one = await fixture.broker()
    await answer(one.create(token("id")))
    error = ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert await answer(one.change(one.hmac("id"), lambda _: error)) is error
    _, stat = await fixture.sessions[0].get(f"{TOKENS}/id")
    assert stat.version == 0


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS, ids=lambda each: each.name)
async def test_a_token_logs_its_owner_in_with_its_secret(fixture: Fixture, mechanism: object) -> None:
    one = await fixture.broker()
    await answer(one.create(token("id")))
    (chosen,) = (each for each in SCRAM_MECHANISMS if each == mechanism)
    found = one.find(chosen, "id")
    assert found is not None
    assert found.principal == Principal(USER, "owner", token_authenticated=True)
    assert found.expires_at_ms == 2000
    password = b64encode(hmac.digest(SECRET.encode(), b"id", hashlib.sha512)).decode()
    assert found.credential == credential_of_password(chosen, password, 4096, found.credential.salt)
    again = one.find(chosen, "id")
    assert again is not None
    assert again.credential is found.credential


async def test_expired_tokens_are_removed_and_others_stay(fixture: Fixture) -> None:
    one = await fixture.broker()
    for name, expires_at_ms in (("a", 1500), ("b", 1499), ("c", 9000)):
        await answer(one.create(token(name, expires_at_ms)))
    fixture.now_ms = 1500
    one.remove_expired()
    await until(lambda: [each.token_id for each in one.all()] == ["a", "c"])
    fixture.now_ms = 3001
    one.remove_expired()
    await until(lambda: one.all() == [])
    assert await fixture.sessions[0].children(TOKENS) == []


async def test_a_token_that_was_renewed_elsewhere_is_not_removed(fixture: Fixture) -> None:
    one = await fixture.broker()
    await answer(one.create(token("id")))
    await fixture.sessions[0].set(f"{TOKENS}/id", encode_token(token("id", 2900)))
    fixture.now_ms = 2500
    one.remove_expired()
    assert await answer(one.change(one.hmac("id"), lambda each: each)) == token("id", 2900)


async def test_without_a_secret_key_nothing_is_read_or_made(fixture: Fixture) -> None:
    one = await fixture.broker(None)
    assert not one.are_enabled
    assert "/delegation_token" not in fixture.store.tree.nodes
    assert one.find(SCRAM_SHA_256, "id") is None
    one.remove_expired()


async def test_a_damaged_token_harms_no_other(fixture: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    one = await fixture.broker()
    await answer(one.create(token("id")))
    await fixture.sessions[0].create(f"{TOKENS}/bad", b"{")
    two = await fixture.broker()
    assert two.all() == [token("id")]
    assert "the delegation token bad cannot be read" in caplog.text


async def test_faults_of_the_store_are_errors(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "metadata")
    fixture = Fixture(ProcessStore(disk, lambda: NOW_MS))
    one = await fixture.broker()
    await answer(one.create(token("id")))
    assert await answer(one.create(token("id"))) is ErrorCode.UNKNOWN_SERVER_ERROR
    disk.full = True
    outcome = await answer(one.change(one.hmac("id"), lambda each: each))
    assert outcome is ErrorCode.UNKNOWN_SERVER_ERROR
    disk.full = False
    await fixture.sessions[0].expire()
    assert await answer(one.create(token("new"))) is ErrorCode.REQUEST_TIMED_OUT
    await fixture.close()
