"""Request and response headers."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, string


@message("0-2", flexible="2+")
class RequestHeader(Message):
    """The header before the body of every request (v0 to v2)."""

    request_api_key: Annotated[int, int16("0+")] = 0
    request_api_version: Annotated[int, int16("0+")] = 0
    correlation_id: Annotated[int, int32("0+")] = 0
    client_id: Annotated[str | None, string("1+", nullable="1+", flexible=False)] = ""


@message("0-1", flexible="1+")
class ResponseHeader(Message):
    """The header before the body of every response (v0 to v1)."""

    correlation_id: Annotated[int, int32("0+")] = 0
