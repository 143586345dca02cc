"""ReadShareGroupStateSummary: request and response (API key 87)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0-1", flexible="0+", api_key=87)
class ReadShareGroupStateSummaryRequest(Message):
    """Request for the start offsets of share partitions (key 87, v0 to v1)."""

    class PartitionData(Part):
        partition: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class ReadStateSummaryData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ReadShareGroupStateSummaryRequest.PartitionData], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData], struct("0+")] = []


@message("0-1", flexible="0+", api_key=87)
class ReadShareGroupStateSummaryResponse(Message):
    """Response: epochs and start offset of each share partition (key 87, v0 to v1)."""

    class PartitionResult(Part):
        partition: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        state_epoch: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0
        delivery_complete_count: Annotated[int, int32("1+", ignorable=True)] = -1

    class ReadStateSummaryResult(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ReadShareGroupStateSummaryResponse.PartitionResult], struct("0+")] = []

    results: Annotated[list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult], struct("0+")] = []
