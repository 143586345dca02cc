"""RenewDelegationToken (key 39), versions 0-2: extend the lifetime of a token (KIP-48).

Behaviour
- Refused without a login, and after a login with a token (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED).
- The owner and the renewers of a token may renew it until it expires, but not beyond its maximum lifetime.

Version notes
- 2: flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.token_requests import NO_TIME, may_use_tokens, token_limits
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kcompat.security.tokens import DelegationToken, renew

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse | Promise[RenewDelegationTokenResponse]:
    """Renew a token; promise the response with its new time of expiry."""
    if not may_use_tokens(context):
        not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(error_code=not_allowed, expiry_timestamp_ms=NO_TIME)
    tokens = context.services.cluster.tokens
    if not tokens.are_enabled:
        return RenewDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    decide = partial(
        renew,
        principal=context.principal,
        period_ms=request.renew_period_ms,
        now_ms=context.now_ms,
        limits=token_limits(context),
    )
    return tokens.change(request.hmac, decide).map(_response)


def _response(outcome: DelegationToken | ErrorCode | None) -> RenewDelegationTokenResponse:
    if isinstance(outcome, DelegationToken):
        return RenewDelegationTokenResponse(expiry_timestamp_ms=outcome.expires_at_ms)
    return RenewDelegationTokenResponse(error_code=outcome or ErrorCode.UNKNOWN_SERVER_ERROR)
