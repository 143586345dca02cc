"""AddOffsetsToTxn: request and response (API key 25)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, int64, string


@message("0-4", flexible="3+", api_key=25)
class AddOffsetsToTxnRequest(Message):
    """Request to add the offsets of a group to a transaction (key 25, v0 to v4)."""

    transactional_id: Annotated[str, string("0+")] = ""
    producer_id: Annotated[int, int64("0+")] = 0
    producer_epoch: Annotated[int, int16("0+")] = 0
    group_id: Annotated[str, string("0+")] = ""


@message("0-4", flexible="3+", api_key=25)
class AddOffsetsToTxnResponse(Message):
    """Response: an error code (key 25, v0 to v4)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
