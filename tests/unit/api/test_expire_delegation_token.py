"""ExpireDelegationToken: who may change a token, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.api import create_delegation_token, expire_delegation_token
from kcompat.config.broker import BrokerConfig
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from support.asking import NOW_MS, ask, services_of
from support.token_apis import ALICE, BOB, CAROL, SETTINGS, TokenBroker, token_broker

if TYPE_CHECKING:
    from kcompat.security.principals import Principal

Renewer = CreateDelegationTokenRequest.CreatableRenewers


async def created(broker: TokenBroker) -> bytes:
    """Return the secret of a token of alice that carol may renew."""
    request = CreateDelegationTokenRequest(renewers=[Renewer("User", "carol")])
    return bytes((await broker.ask(create_delegation_token, 3, request)).hmac)


@pytest.mark.parametrize("version", range(3))
def test_a_client_without_a_name_changes_no_token(version: int) -> None:
    services = services_of(config=BrokerConfig(SETTINGS))
    answer = ask(expire_delegation_token, version, ExpireDelegationTokenRequest(b"hmac", 1000), services)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1


async def test_a_broker_without_a_secret_key_has_no_tokens() -> None:
    async with token_broker(None) as broker:
        answer = await broker.ask(expire_delegation_token, 2, ExpireDelegationTokenRequest(b"hmac", 1000))
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("principal", [ALICE, CAROL])
async def test_owner_and_renewer_change_a_token(version: int, principal: Principal) -> None:
    async with token_broker() as broker:
        secret = await created(broker)
        answer = await broker.ask(
            expire_delegation_token, version, ExpireDelegationTokenRequest(secret, 30), principal, later_ms=10
        )
        (token,) = broker.tokens.all()
    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, NOW_MS + 40)
    assert token.expires_at_ms == NOW_MS + 40


@pytest.mark.parametrize(
    ("principal", "secret", "later_ms", "error"),
    [
        (BOB, None, 0, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (ALICE, b"other", 0, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
        (ALICE, b"", 0, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
        (ALICE, None, 101, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        (replace(ALICE, token_authenticated=True), None, 0, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ],
)
async def test_a_change_is_refused(
    principal: Principal, secret: bytes | None, later_ms: int, error: ErrorCode
) -> None:
    async with token_broker() as broker:
        real = await created(broker)
        before = broker.tokens.all()
        request = ExpireDelegationTokenRequest(real if secret is None else secret, 30)
        answer = await broker.ask(expire_delegation_token, 2, request, principal, later_ms=later_ms)
        assert broker.tokens.all() == before
    assert answer.error_code == error


async def test_a_negative_period_removes_a_token() -> None:
    async with token_broker() as broker:
        secret = await created(broker)
        request = ExpireDelegationTokenRequest(secret, -1)
        answer = await broker.ask(expire_delegation_token, 2, request, later_ms=5000)
        assert broker.tokens.all() == []
    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, NOW_MS + 5000)
