"""SaslHandshake (key 17), versions 0-1: a client chooses its SASL mechanism (KIP-43).

Behaviour
- A connection to a PLAINTEXT listener is authenticated from the start, so the request gets ILLEGAL_SASL_STATE
  and no mechanisms.

Version notes
- 1: SaslAuthenticate carries the tokens that follow (KIP-152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.notices.causes import LOGIN_WHERE_NONE_IS
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Refuse a second authentication."""
    context.report(LOGIN_WHERE_NONE_IS, listener=context.listener)
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
