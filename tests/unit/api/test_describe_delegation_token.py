"""DescribeDelegationToken: the tokens that a client may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.api import create_delegation_token, describe_delegation_token
from kcompat.config.broker import BrokerConfig
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import NOW_MS, Denying, ask, services_of
from support.token_apis import ALICE, BOB, CAROL, SETTINGS, TokenBroker, token_broker

if TYPE_CHECKING:
    from kcompat.security.principals import Principal

Renewer = CreateDelegationTokenRequest.CreatableRenewers
Owner = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
ALL = DescribeDelegationTokenRequest(owners=None)
NOTHING = Denying(
    (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN), (Operation.DESCRIBE_TOKENS, ResourceType.USER)
)


async def create(broker: TokenBroker) -> None:
    """Create a token of alice that carol may renew, and one of bob."""
    request = CreateDelegationTokenRequest(renewers=[Renewer("User", "carol")])
    await broker.ask(create_delegation_token, 3, request)
    await broker.ask(create_delegation_token, 3, CreateDelegationTokenRequest(), BOB)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("is_of_all", [True, False])
def test_a_client_without_a_name_sees_no_token(version: int, is_of_all: bool) -> None:
    request = DescribeDelegationTokenRequest(owners=None if is_of_all else [])
    answer = ask(describe_delegation_token, version, request, services_of(config=BrokerConfig(SETTINGS)))
    assert (answer.error_code, answer.tokens) == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, [])


async def test_a_broker_without_a_secret_key_has_no_tokens() -> None:
    async with token_broker(None) as broker:
        answer = await broker.ask(describe_delegation_token, 3, ALL)
    assert (answer.error_code, answer.tokens) == (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, [])


@pytest.mark.parametrize("version", range(4))
async def test_a_token_is_described_with_its_secret(version: int) -> None:
    async with token_broker(authorizer=NOTHING) as broker:
        await create(broker)
        (row,) = (await broker.ask(describe_delegation_token, version, ALL)).tokens
        assert row.hmac == broker.tokens.hmac(row.token_id)
    assert (row.principal_type, row.principal_name) == ("User", "alice")
    requester = (row.token_requester_principal_type, row.token_requester_principal_name)
    assert requester == (("User", "alice") if version >= 3 else ("", ""))
    times = (row.issue_timestamp, row.expiry_timestamp, row.max_timestamp)
    assert times == (NOW_MS, NOW_MS + 100, NOW_MS + 1000)
    assert [(each.principal_type, each.principal_name) for each in row.renewers] == [("User", "carol")]


@pytest.mark.parametrize(
    ("principal", "owners", "seen"),
    [
        (ALICE, None, ["alice"]),
        (ALICE, [], []),
        (ALICE, ["alice", "bob"], ["alice"]),
        (ALICE, ["bob"], []),
        (ALICE, ["carol"], ["alice"]),
        (BOB, None, ["bob"]),
        (CAROL, None, ["alice"]),
    ],
)
async def test_owners_and_renewers_see_their_tokens(
    principal: Principal, owners: list[str] | None, seen: list[str]
) -> None:
    asked = None if owners is None else [Owner("User", name) for name in owners]
    async with token_broker(authorizer=NOTHING) as broker:
        await create(broker)
        request = DescribeDelegationTokenRequest(owners=asked)
        answer = await broker.ask(describe_delegation_token, 3, request, principal)
    assert [row.principal_name for row in answer.tokens] == seen


async def test_tokens_of_others_need_a_permission_on_the_token_or_on_the_user() -> None:
    for denied in (
        [(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN)],
        [(Operation.DESCRIBE_TOKENS, ResourceType.USER)],
    ):
        async with token_broker(authorizer=Denying(*denied)) as broker:
            await create(broker)
            answer = await broker.ask(describe_delegation_token, 3, ALL)
        assert sorted(row.principal_name for row in answer.tokens) == ["alice", "bob"]
    denials = Denying(
        (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN),
        (Operation.DESCRIBE_TOKENS, Resource(ResourceType.USER, "User:bob")),
    )
    async with token_broker(authorizer=denials) as broker:
        await create(broker)
        answer = await broker.ask(describe_delegation_token, 3, ALL, CAROL)
    assert [row.principal_name for row in answer.tokens] == ["alice"]
