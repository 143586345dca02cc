"""DescribeDelegationToken (key 41), versions 0-3: the tokens that a client may see (KIP-48).

Behaviour
- A client of a PLAINTEXT listener is anonymous and may not use tokens, so each request gets
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.

Version notes
- 2: flexible. 3: the principal that requested a token (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(
    _context: RequestContext, _request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Refuse to show tokens."""
    return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
