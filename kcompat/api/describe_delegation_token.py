"""DescribeDelegationToken (key 41), versions 0-3: the tokens that a client may see (KIP-48).

Behaviour
- Refused without a login, and after a login with a token (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED).
- A client sees the tokens that it owns, has asked for or may renew, those that it may DESCRIBE, and those of
  users on which it has DESCRIBE_TOKENS (KIP-373). A null list of owners means all, an empty list none.
- The response has the secrets of the tokens, as the client may use them.

Version notes
- 2: flexible. 3: the principal that asked for a token (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.token_requests import FIRST_WITH_REQUESTER, may_use_tokens
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import Principal
from kcompat.security.tokens import is_shown

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.security.tokens import DelegationToken

_Row = DescribeDelegationTokenResponse.DescribedDelegationToken
_Renewer = DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer


def handle(
    context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Describe the tokens of these owners that the client may see."""
    if not may_use_tokens(context):
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    tokens = context.services.cluster.tokens
    if not tokens.are_enabled:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = [Principal(each.principal_type, each.principal_name) for each in request.owners]

    def may_describe(token: DelegationToken) -> bool:
        return context.may(
            Operation.DESCRIBE, Resource(ResourceType.DELEGATION_TOKEN, token.token_id)
        ) or context.may(Operation.DESCRIBE_TOKENS, Resource(ResourceType.USER, str(token.owner)))

    return DescribeDelegationTokenResponse(
        tokens=[
            _described(context, token, tokens.hmac(token.token_id))
            for token in tokens.all()
            if is_shown(token, context.principal, owners, may_describe)
        ]
    )


def _described(context: RequestContext, token: DelegationToken, hmac: bytes) -> _Row:
    row = _Row(
        principal_type=token.owner.type,
        principal_name=token.owner.name,
        issue_timestamp=token.issued_at_ms,
        expiry_timestamp=token.expires_at_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=hmac,
        renewers=[_Renewer(renewer.type, renewer.name) for renewer in token.renewers],
    )
    if context.api_version >= FIRST_WITH_REQUESTER:
        row.token_requester_principal_type = token.requester.type
        row.token_requester_principal_name = token.requester.name
    return row
