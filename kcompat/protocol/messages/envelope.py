"""Envelope: request and response (API key 58)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import binary, int16


@message("0", flexible="0+", api_key=58)
class EnvelopeRequest(Message):
    """Request of a client, forwarded by a broker to the controller (key 58, v0)."""

    request_data: Annotated[bytes, binary("0+")] = b""
    request_principal: Annotated[bytes | None, binary("0+", nullable="0+")] = b""
    client_host_address: Annotated[bytes, binary("0+")] = b""


@message("0", flexible="0+", api_key=58)
class EnvelopeResponse(Message):
    """Response: the encoded response for the client (key 58, v0)."""

    response_data: Annotated[bytes | None, binary("0+", nullable="0+")] = None
    error_code: Annotated[int, int16("0+")] = 0
