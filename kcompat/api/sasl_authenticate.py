"""SaslAuthenticate (key 36), versions 0-2: one token of a SASL exchange (KIP-152).

Behaviour
- A connection to a PLAINTEXT listener is authenticated from the start, so the request gets
  ILLEGAL_SASL_STATE.

Version notes
- 1: the response has the lifetime of the session (KIP-368). 2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(_context: RequestContext, _request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """Refuse a second authentication."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
