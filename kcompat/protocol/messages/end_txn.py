"""EndTxn: request and response (API key 26)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import boolean, int16, int32, int64, string


@message("0-5", flexible="3+", api_key=26)
class EndTxnRequest(Message):
    """Request to commit or abort a transaction (key 26, v0 to v5)."""

    transactional_id: Annotated[str, string("0+")] = ""
    producer_id: Annotated[int, int64("0+")] = 0
    producer_epoch: Annotated[int, int16("0+")] = 0
    committed: Annotated[bool, boolean("0+")] = False


@message("0-5", flexible="3+", api_key=26)
class EndTxnResponse(Message):
    """Response: an error code, and from v5 on the next producer id and epoch (key 26, v0 to v5)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    producer_id: Annotated[int, int64("5+", ignorable=True)] = -1
    producer_epoch: Annotated[int, int16("5+", ignorable=True)] = -1
