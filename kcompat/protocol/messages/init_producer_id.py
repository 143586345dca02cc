"""InitProducerId: request and response (API key 22)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import boolean, int16, int32, int64, string


@message("0-6", flexible="2+", latest_stable=5, api_key=22)
class InitProducerIdRequest(Message):
    """Request for a producer id; fences earlier producers of a transactional id (key 22, v0 to v6)."""

    transactional_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    transaction_timeout_ms: Annotated[int, int32("0+")] = 0
    producer_id: Annotated[int, int64("3+")] = -1
    producer_epoch: Annotated[int, int16("3+")] = -1
    enable_2pc: Annotated[bool, boolean("6+")] = False
    keep_prepared_txn: Annotated[bool, boolean("6+")] = False


@message("0-6", flexible="2+", latest_stable=5, api_key=22)
class InitProducerIdResponse(Message):
    """Response: the producer id and epoch (key 22, v0 to v6)."""

    throttle_time_ms: Annotated[int, int32("0+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    producer_id: Annotated[int, int64("0+")] = -1
    producer_epoch: Annotated[int, int16("0+")] = 0
    ongoing_txn_producer_id: Annotated[int, int64("6+")] = -1
    ongoing_txn_producer_epoch: Annotated[int, int16("6+")] = -1
