"""CreateDelegationToken: who gets a token, and for how long."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.api import create_delegation_token
from kcompat.config.broker import BrokerConfig
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import ANONYMOUS, USER, Principal
from support.asking import NOW_MS, Denying, ask, services_of
from support.token_apis import ALICE, BOB, CAROL, SETTINGS, token_broker

Renewer = CreateDelegationTokenRequest.CreatableRenewers
FOR_BOB = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob")
TIMES = (-1, -1, -1)


@pytest.mark.parametrize("version", range(4))
def test_a_client_without_a_name_gets_no_token(version: int) -> None:
    services = services_of(config=BrokerConfig(SETTINGS))
    answer = ask(create_delegation_token, version, CreateDelegationTokenRequest(), services)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_type, answer.principal_name) == ("User", "ANONYMOUS")
    requester = (answer.token_requester_principal_type, answer.token_requester_principal_name)
    assert requester == (("User", "ANONYMOUS") if version >= 3 else ("", ""))
    assert (answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms) == TIMES
    assert (answer.token_id, answer.hmac) == ("", b"")


def test_the_owner_that_was_asked_for_is_named() -> None:
    answer = ask(create_delegation_token, 3, FOR_BOB, services_of(config=BrokerConfig(SETTINGS)))
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_type, answer.principal_name) == ("User", "bob")
    assert answer.token_requester_principal_name == "ANONYMOUS"


@pytest.mark.parametrize(
    ("listener", "principal", "is_allowed"),
    [
        ("PLAINTEXT", ANONYMOUS, False),
        ("SSL", ANONYMOUS, False),
        ("SSL", Principal(USER, "CN=alice"), True),
        ("SASL_PLAINTEXT", ALICE, True),
        ("OWN", ALICE, True),
        ("OWN", replace(ALICE, token_authenticated=True), False),
    ],
)
async def test_a_login_that_is_not_by_a_token_is_needed(
    listener: str, principal: Principal, is_allowed: bool
) -> None:
    async with token_broker() as broker:
        answer = await broker.ask(
            create_delegation_token, 3, CreateDelegationTokenRequest(), principal, listener
        )
        assert len(broker.tokens.all()) == is_allowed
    assert answer.error_code == (0 if is_allowed else ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


@pytest.mark.parametrize("version", range(4))
async def test_a_token_for_the_client_itself(version: int) -> None:
    request = CreateDelegationTokenRequest(renewers=[Renewer("User", "carol")], max_lifetime_ms=-1)
    async with token_broker() as broker:
        answer = await broker.ask(create_delegation_token, version, request)
        (token,) = broker.tokens.all()
        assert (answer.token_id, answer.hmac) == (token.token_id, broker.tokens.hmac(token.token_id))
    assert (answer.error_code, answer.principal_name) == (0, "alice")
    assert len(answer.token_id) == 22
    assert (token.owner, token.requester, token.renewers) == (ALICE, ALICE, (CAROL,))
    times = (answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms)
    assert times == (NOW_MS, NOW_MS + 100, NOW_MS + 1000)
    assert times == (token.issued_at_ms, token.expires_at_ms, token.max_ms)


async def test_a_token_for_another_user_needs_a_permission() -> None:
    denied = Denying((Operation.CREATE_TOKENS, Resource(ResourceType.USER, "User:bob")))
    async with token_broker(authorizer=denied) as broker:
        answer = await broker.ask(create_delegation_token, 3, FOR_BOB)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert broker.tokens.all() == []
        assert (await broker.ask(create_delegation_token, 3, FOR_BOB, BOB)).error_code == 0
    async with token_broker() as broker:
        answer = await broker.ask(create_delegation_token, 3, FOR_BOB)
        (token,) = broker.tokens.all()
    assert (answer.principal_name, answer.token_requester_principal_name) == ("bob", "alice")
    assert (token.owner, token.requester) == (BOB, ALICE)


@pytest.mark.parametrize(
    "request_",
    [
        CreateDelegationTokenRequest(renewers=[Renewer("User", "a"), Renewer("Group", "b")]),
        CreateDelegationTokenRequest(owner_principal_type="Group", owner_principal_name="bob"),
        CreateDelegationTokenRequest(owner_principal_type=None, owner_principal_name="bob"),
    ],
)
async def test_owner_and_renewers_must_be_users(request_: CreateDelegationTokenRequest) -> None:
    async with token_broker() as broker:
        answer = await broker.ask(create_delegation_token, 3, request_)
        assert (answer.error_code, broker.tokens.all()) == (ErrorCode.INVALID_PRINCIPAL_TYPE, [])
    assert (answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms) == TIMES


async def test_a_broker_without_a_secret_key_makes_no_token() -> None:
    async with token_broker(None) as broker:
        answer = await broker.ask(create_delegation_token, 3, CreateDelegationTokenRequest())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


async def test_a_token_that_cannot_be_stored_is_an_error() -> None:
    async with token_broker() as broker:
        await broker.tokens.stop()
        await broker.session.expire()
        answer = await broker.ask(create_delegation_token, 3, CreateDelegationTokenRequest())
    assert (answer.error_code, answer.hmac) == (ErrorCode.REQUEST_TIMED_OUT, b"")
