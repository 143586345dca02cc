"""ReadShareGroupState: request and response (API key 84)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int8, int16, int32, int64, string, struct, uuid


@message("0", flexible="0+", api_key=84)
class ReadShareGroupStateRequest(Message):
    """Request for the persisted state of share partitions (key 84, v0)."""

    class PartitionData(Part):
        partition: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class ReadStateData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ReadShareGroupStateRequest.PartitionData], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[ReadShareGroupStateRequest.ReadStateData], struct("0+")] = []


@message("0", flexible="0+", api_key=84)
class ReadShareGroupStateResponse(Message):
    """Response: state batches of each share partition (key 84, v0)."""

    class StateBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        delivery_state: Annotated[int, int8("0+")] = 0
        delivery_count: Annotated[int, int16("0+")] = 0

    class PartitionResult(Part):
        partition: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        state_epoch: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0
        state_batches: Annotated[list[ReadShareGroupStateResponse.StateBatch], struct("0+")] = []

    class ReadStateResult(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ReadShareGroupStateResponse.PartitionResult], struct("0+")] = []

    results: Annotated[list[ReadShareGroupStateResponse.ReadStateResult], struct("0+")] = []
