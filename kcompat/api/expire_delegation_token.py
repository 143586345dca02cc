"""ExpireDelegationToken (key 40), versions 0-2: change the expiry time of a token (KIP-48).

Behaviour
- A client of a PLAINTEXT listener is anonymous and may not use tokens, so each request gets
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
    """Refuse to change the expiry time of a token."""
    return ExpireDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
    )
