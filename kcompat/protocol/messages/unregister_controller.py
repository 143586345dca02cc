"""UnregisterController: request and response (API key 94)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, string


@message("0", flexible="0+", api_key=94)
class UnregisterControllerRequest(Message):
    """Request to remove a controller from the KRaft registry (key 94, v0)."""

    controller_id: Annotated[int, int32("0+")] = 0


@message("0", flexible="0+", api_key=94)
class UnregisterControllerResponse(Message):
    """Response: an error code (key 94, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
