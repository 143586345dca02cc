"""CreateDelegationToken (key 38), versions 0-3: create a token with which clients act for its owner (KIP-48).

Behaviour
- A client of a PLAINTEXT listener is anonymous and may not use tokens, so each request gets
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.

Version notes
- 2: flexible. 3: a token for another owner (KIP-373); the response names both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

FIRST_WITH_REQUESTER = 3
NO_TIME = -1


def handle(context: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """Refuse to create a token."""
    requester = context.principal
    owner_type, owner_name = requester.type, requester.name
    if request.owner_principal_name:
        owner_type, owner_name = request.owner_principal_type or "", request.owner_principal_name
    response = CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=owner_type,
        principal_name=owner_name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )
    if context.api_version >= FIRST_WITH_REQUESTER:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response
