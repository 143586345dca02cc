"""SaslHandshake (key 17), versions 0-1: a client chooses its SASL mechanism (KIP-43).

Behaviour
- A connection to a PLAINTEXT listener is authenticated from its beginning, so the request comes too late:
  ILLEGAL_SASL_STATE, and no mechanisms.

Version notes
- 1: the tokens that follow are carried by SaslAuthenticate (KIP-152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(_context: RequestContext, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Refuse to authenticate a client once more."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
