"""AllocateProducerIds: request and response (API key 67)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, int64


@message("0", flexible="0+", api_key=67)
class AllocateProducerIdsRequest(Message):
    """Request of a broker to the controller for a block of producer ids (key 67, v0)."""

    broker_id: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("0+")] = -1


@message("0", flexible="0+", api_key=67)
class AllocateProducerIdsResponse(Message):
    """Response: first id and length of the block (key 67, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    producer_id_start: Annotated[int, int64("0+")] = 0
    producer_id_len: Annotated[int, int32("0+")] = 0
