"""CreateDelegationToken (key 38), versions 0-3: create a token with which clients act for its owner (KIP-48).

Behaviour
- Refused without a login, and after a login with a token (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED).
- A token for another owner needs CREATE_TOKENS on that user (KIP-373). Owner and renewers must be users: a
  client logs in with a token as the user of the owner's name. Kafka takes owners of any type.
- The response has the secret of the token, its HMAC, which is neither stored nor logged.

Version notes
- 2: flexible. 3: a token for another owner (KIP-373); the response names both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.token_requests import FIRST_WITH_REQUESTER, NO_TIME, may_use_tokens, token_limits
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import USER, Principal
from kcompat.security.tokens import DelegationToken, issue

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | Promise[CreateDelegationTokenResponse]:
    """Check the request and store a new token; promise the response with its secret."""
    owner = context.principal
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    response = CreateDelegationTokenResponse(principal_type=owner.type, principal_name=owner.name)
    if context.api_version >= FIRST_WITH_REQUESTER:
        response.token_requester_principal_type = context.principal.type
        response.token_requester_principal_name = context.principal.name
    renewers = [Principal(each.principal_type, each.principal_name) for each in request.renewers]
    error = _refusal(context, owner, renewers)
    if error is not None:
        response.error_code = error
        response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = NO_TIME
        return response
    tokens = context.services.cluster.tokens
    if not tokens.are_enabled:
        response.error_code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        return response
    token = issue(
        tokens.new_id(),
        owner,
        context.principal,
        renewers,
        request.max_lifetime_ms,
        context.now_ms,
        token_limits(context),
    )

    def created(outcome: DelegationToken | ErrorCode | None) -> CreateDelegationTokenResponse:
        if isinstance(outcome, DelegationToken):
            response.issue_timestamp_ms = token.issued_at_ms
            response.expiry_timestamp_ms = token.expires_at_ms
            response.max_timestamp_ms = token.max_ms
            response.token_id = token.token_id
            response.hmac = tokens.hmac(token.token_id)
        else:
            response.error_code = outcome or ErrorCode.UNKNOWN_SERVER_ERROR
        return response

    return tokens.create(token).map(created)


def _refusal(context: RequestContext, owner: Principal, renewers: list[Principal]) -> ErrorCode | None:
    if not may_use_tokens(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    if owner != context.principal and not context.may(
        Operation.CREATE_TOKENS, Resource(ResourceType.USER, str(owner))
    ):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(principal.type != USER for principal in (owner, *renewers)):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return None
