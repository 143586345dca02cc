"""SaslHandshake: request and response (API key 17)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, string


@message("0-1", api_key=17)
class SaslHandshakeRequest(Message):
    """Request to use a SASL mechanism (key 17, v0 to v1)."""

    mechanism: Annotated[str, string("0+")] = ""


@message("0-1", api_key=17)
class SaslHandshakeResponse(Message):
    """Response: an error code, and the mechanisms that the listener offers (key 17, v0 to v1)."""

    error_code: Annotated[int, int16("0+")] = 0
    mechanisms: Annotated[list[str], string("0+")] = []
