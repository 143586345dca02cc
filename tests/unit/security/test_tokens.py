"""Delegation tokens: who may change and see one, and until when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.protocol.errors import ErrorCode
from kcompat.security.principals import USER, Principal
from kcompat.security.tokens import DelegationToken, TokenLimits, expire, is_shown, issue, renew

LIMITS = TokenLimits(max_lifetime_ms=1000, renewal_ms=100)
OWNER, REQUESTER, RENEWER, OTHER = (Principal(USER, name) for name in ("owner", "asker", "renewer", "other"))
NOW = 5000


def token(lifetime_ms: int = -1) -> DelegationToken:
    """A token of OWNER, issued now."""
    return issue("id", OWNER, REQUESTER, [RENEWER], lifetime_ms, NOW, LIMITS)


@pytest.mark.parametrize(
    ("lifetime_ms", "max_ms", "expires_at_ms"),
    [(-1, 6000, 5100), (0, 6000, 5100), (500, 5500, 5100), (50, 5050, 5050), (2**63 - 1, 6000, 5100)],
)
def test_a_new_token(lifetime_ms: int, max_ms: int, expires_at_ms: int) -> None:
    issued = token(lifetime_ms)
    assert issued == DelegationToken("id", OWNER, REQUESTER, (RENEWER,), NOW, max_ms, expires_at_ms)


@pytest.mark.parametrize(
    ("period_ms", "now_ms", "expires_at_ms"),
    [(-1, 5050, 5150), (0, 5050, 5150), (20, 5050, 5070), (999, 5050, 5150), (2**63 - 1, 5100, 5200)],
)
def test_owner_and_renewers_renew(period_ms: int, now_ms: int, expires_at_ms: int) -> None:
    for principal in (OWNER, RENEWER, replace(OWNER, token_authenticated=True)):
        renewed = renew(token(), principal, period_ms, now_ms, LIMITS)
        assert renewed == replace(token(), expires_at_ms=expires_at_ms)


def test_a_renewal_never_passes_the_maximum() -> None:
    late = replace(token(), expires_at_ms=5990)
    assert renew(late, OWNER, -1, 5980, LIMITS) == replace(late, expires_at_ms=6000)


@pytest.mark.parametrize("period_ms", [0, 20, 2**63 - 1])
def test_a_token_expires_after_a_period_that_may_be_longer_than_a_renewal(period_ms: int) -> None:
    changed = expire(token(), RENEWER, period_ms, NOW)
    assert changed == replace(token(), expires_at_ms=min(6000, NOW + period_ms))


def test_a_negative_period_removes_a_token() -> None:
    assert expire(token(), OWNER, -1, NOW) is None


def test_others_change_nothing_and_an_expired_token_stays_expired() -> None:
    for principal in (OTHER, REQUESTER, Principal("Group", "owner")):
        assert renew(token(), principal, -1, NOW, LIMITS) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert expire(token(), principal, -1, NOW) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert not token().has_expired(5100)
    for principal in (OWNER, OTHER):
        assert renew(token(), principal, -1, 5101, LIMITS) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expire(token(), OWNER, 0, 5101) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expire(token(), OTHER, 0, 5101) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert expire(token(), OWNER, -1, 5101) is None
    assert replace(token(), expires_at_ms=9000).has_expired(6001)


@pytest.mark.parametrize("may_describe", [False, True])
@pytest.mark.parametrize("principal", [OWNER, REQUESTER, RENEWER, OTHER])
@pytest.mark.parametrize("owners", [None, [OWNER], [OTHER, RENEWER], [OTHER], [REQUESTER]])
def test_a_token_is_shown_to_those_it_concerns_and_to_those_who_may_describe_it(
    owners: list[Principal] | None, principal: Principal, may_describe: bool
) -> None:
    shown_to = {OWNER, REQUESTER, RENEWER}
    is_wanted = owners is None or not shown_to.isdisjoint(owners)
    expected = is_wanted and (may_describe or principal in shown_to)
    assert is_shown(token(), principal, owners, lambda _: may_describe) is expected
