"""ExpireDelegationToken (key 40), versions 0-2: change the expiry time of a token (KIP-48).

Behaviour
- Refused without a login, and after a login with a token (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED).
- The owner and the renewers of a token may change it until it expires. A negative period removes the token,
  also an expired one.

Version notes
- 2: flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.token_requests import NO_TIME, may_use_tokens
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kcompat.security.tokens import DelegationToken, expire

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | Promise[ExpireDelegationTokenResponse]:
    """Change or remove a token; promise the response with its new time of expiry."""
    if not may_use_tokens(context):
        not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(error_code=not_allowed, expiry_timestamp_ms=NO_TIME)
    tokens = context.services.cluster.tokens
    if not tokens.are_enabled:
        return ExpireDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    decide = partial(
        expire,
        principal=context.principal,
        period_ms=request.expiry_time_period_ms,
        now_ms=context.now_ms,
    )

    def changed(outcome: DelegationToken | ErrorCode | None) -> ExpireDelegationTokenResponse:
        if isinstance(outcome, DelegationToken):
            return ExpireDelegationTokenResponse(expiry_timestamp_ms=outcome.expires_at_ms)
        if outcome is None:
            return ExpireDelegationTokenResponse(expiry_timestamp_ms=context.now_ms)
        return ExpireDelegationTokenResponse(error_code=outcome)

    return tokens.change(request.hmac, decide).map(changed)
