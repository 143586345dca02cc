"""WriteShareGroupState: request and response (API key 85)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int8, int16, int32, int64, string, struct, uuid


@message("0-1", flexible="0+", api_key=85)
class WriteShareGroupStateRequest(Message):
    """Request to write the persisted state of share partitions (key 85, v0 to v1)."""

    class StateBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        delivery_state: Annotated[int, int8("0+")] = 0
        delivery_count: Annotated[int, int16("0+")] = 0

    class PartitionData(Part):
        partition: Annotated[int, int32("0+")] = 0
        state_epoch: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0
        delivery_complete_count: Annotated[int, int32("1+", ignorable=True)] = -1
        state_batches: Annotated[list[WriteShareGroupStateRequest.StateBatch], struct("0+")] = []

    class WriteStateData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[WriteShareGroupStateRequest.PartitionData], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[WriteShareGroupStateRequest.WriteStateData], struct("0+")] = []


@message("0-1", flexible="0+", api_key=85)
class WriteShareGroupStateResponse(Message):
    """Response: an error code for each partition (key 85, v0 to v1)."""

    class PartitionResult(Part):
        partition: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    class WriteStateResult(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[WriteShareGroupStateResponse.PartitionResult], struct("0+")] = []

    results: Annotated[list[WriteShareGroupStateResponse.WriteStateResult], struct("0+")] = []
