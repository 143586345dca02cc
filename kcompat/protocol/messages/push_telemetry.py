"""PushTelemetry: request and response (API key 72)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, binary, boolean, int8, int16, int32, uuid


@message("0", flexible="0+", api_key=72)
class PushTelemetryRequest(Message):
    """Request of a client that carries its metrics (KIP-714) (key 72, v0)."""

    client_instance_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    subscription_id: Annotated[int, int32("0+")] = 0
    terminating: Annotated[bool, boolean("0+")] = False
    compression_type: Annotated[int, int8("0+")] = 0
    metrics: Annotated[bytes, binary("0+")] = b""


@message("0", flexible="0+", api_key=72)
class PushTelemetryResponse(Message):
    """Response: an error code (key 72, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
