"""UnregisterBroker: request and response (API key 64)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, string


@message("0", flexible="0+", api_key=64)
class UnregisterBrokerRequest(Message):
    """Request to remove a broker from the KRaft registry (key 64, v0)."""

    broker_id: Annotated[int, int32("0+")] = 0


@message("0", flexible="0+", api_key=64)
class UnregisterBrokerResponse(Message):
    """Response: an error code (key 64, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
