"""Delegation tokens (KIP-48, KIP-373): the principals that may change and see a token, and its validity.
Pure.

A client that has logged in gets a token; other clients log in with it as the owner of the token. Errors and
their order are those of Kafka in KRaft mode (`DelegationTokenControlManager`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.protocol.errors import ErrorCode
from kcompat.security.principals import Principal  # noqa: TC001 - msgspec reads the annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


class TokenLimits(Struct, frozen=True, gc=False):
    """Time in ms for which a new token can be renewed, and for which a renewed one is valid."""

    max_lifetime_ms: int
    renewal_ms: int


class DelegationToken(Struct, frozen=True):
    """A token without its secret; times are in ms since the epoch."""

    token_id: str
    owner: Principal
    requester: Principal
    """The principal that asked for the token, which may be for another owner."""
    renewers: tuple[Principal, ...]
    issued_at_ms: int
    max_ms: int
    """Time beyond which the token cannot be renewed."""
    expires_at_ms: int

    def has_expired(self, now_ms: int) -> bool:
        """Return whether the token has expired, so that it can only be removed."""
        return min(self.max_ms, self.expires_at_ms) < now_ms

    def belongs_to(self, principal: Principal) -> bool:
        """Return whether a principal is the owner or one of the renewers."""
        return any(_is_same(principal, each) for each in (self.owner, *self.renewers))

    def concerns(self, principal: Principal) -> bool:
        """Return whether a principal is the owner, one of the renewers, or has asked for the token."""
        return self.belongs_to(principal) or _is_same(principal, self.requester)


def issue(
    token_id: str,
    owner: Principal,
    requester: Principal,
    renewers: Collection[Principal],
    lifetime_ms: int,
    now_ms: int,
    limits: TokenLimits,
) -> DelegationToken:
    """Return a new token; a `lifetime_ms` of 0 or less stands for the longest one."""
    longest_ms = limits.max_lifetime_ms
    max_ms = now_ms + (min(longest_ms, lifetime_ms) if lifetime_ms > 0 else longest_ms)
    expires_at_ms = min(max_ms, now_ms + limits.renewal_ms)
    return DelegationToken(token_id, owner, requester, tuple(renewers), now_ms, max_ms, expires_at_ms)


def renew(
    token: DelegationToken, principal: Principal, period_ms: int, now_ms: int, limits: TokenLimits
) -> DelegationToken | ErrorCode:
    """Return the token with a later time of expiry, or the error; a period of 0 or less stands for the
    longest one.
    """
    if token.has_expired(now_ms):
        return ErrorCode.DELEGATION_TOKEN_EXPIRED
    if not token.belongs_to(principal):
        return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    period_ms = min(limits.renewal_ms, period_ms) if period_ms > 0 else limits.renewal_ms
    return replace(token, expires_at_ms=min(token.max_ms, now_ms + period_ms))


def expire(
    token: DelegationToken, principal: Principal, period_ms: int, now_ms: int
) -> DelegationToken | ErrorCode | None:
    """Return the token that expires after a period, None if it is removed at once because the period is
    negative, or the error. A token that has expired can still be removed.
    """
    if not token.belongs_to(principal):
        return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    if period_ms < 0:
        return None
    if token.has_expired(now_ms):
        return ErrorCode.DELEGATION_TOKEN_EXPIRED
    return replace(token, expires_at_ms=min(token.max_ms, now_ms + period_ms))


def is_shown(
    token: DelegationToken,
    principal: Principal,
    owners: Collection[Principal] | None,
    may_describe: Callable[[DelegationToken], bool],
) -> bool:
    """Return whether DescribeDelegationToken shows a token to a principal.

    `owners` are the owners that the request names, None for all. `may_describe` decides about tokens of
    others.
    """
    if owners is not None and not any(map(token.concerns, owners)):
        return False
    return token.concerns(principal) or may_describe(token)


def _is_same(one: Principal, other: Principal) -> bool:
    """Return whether two principals are the same, however they logged in."""
    return (one.type, one.name) == (other.type, other.name)
