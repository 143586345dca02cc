"""ExpireDelegationToken (key 40), versions 0-2: an earlier end of a token (KIP-48).

Behaviour
- A client of a PLAINTEXT listener has no name of its own, so it may not deal with tokens:
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.

Version notes
- 2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

NO_TIME = -1


def handle(_context: RequestContext, _request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    """Refuse to shorten the life of a token."""
    return ExpireDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
    )
