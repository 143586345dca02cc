"""SaslAuthenticate: request and response (API key 36)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import binary, int16, int64, string


@message("0-2", flexible="2+", api_key=36)
class SaslAuthenticateRequest(Message):
    """Request that carries one SASL token of the client (key 36, v0 to v2)."""

    auth_bytes: Annotated[bytes, binary("0+")] = b""


@message("0-2", flexible="2+", api_key=36)
class SaslAuthenticateResponse(Message):
    """Response: the server's SASL token and the lifetime of the session (key 36, v0 to v2)."""

    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    auth_bytes: Annotated[bytes, binary("0+")] = b""
    session_lifetime_ms: Annotated[int, int64("1+", ignorable=True)] = 0
