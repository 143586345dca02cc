"""ExpireDelegationToken: request and response (API key 40)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import binary, int16, int32, int64


@message("0-2", flexible="2+", api_key=40)
class ExpireDelegationTokenRequest(Message):
    """Request to shorten or end the lifetime of a delegation token (key 40, v0 to v2)."""

    hmac: Annotated[bytes, binary("0+")] = b""
    expiry_time_period_ms: Annotated[int, int64("0+")] = 0


@message("0-2", flexible="2+", api_key=40)
class ExpireDelegationTokenResponse(Message):
    """Response: the token's new expiry time (key 40, v0 to v2)."""

    error_code: Annotated[int, int16("0+")] = 0
    expiry_timestamp_ms: Annotated[int, int64("0+")] = 0
    throttle_time_ms: Annotated[int, int32("0+")] = 0
