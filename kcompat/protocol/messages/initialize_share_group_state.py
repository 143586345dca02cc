"""InitializeShareGroupState: request and response (API key 83)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0", flexible="0+", api_key=83)
class InitializeShareGroupStateRequest(Message):
    """Request to create the persisted state of share partitions (key 83, v0)."""

    class PartitionData(Part):
        partition: Annotated[int, int32("0+")] = 0
        state_epoch: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0

    class InitializeStateData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[InitializeShareGroupStateRequest.PartitionData], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[InitializeShareGroupStateRequest.InitializeStateData], struct("0+")] = []


@message("0", flexible="0+", api_key=83)
class InitializeShareGroupStateResponse(Message):
    """Response: an error code for each partition (key 83, v0)."""

    class PartitionResult(Part):
        partition: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    class InitializeStateResult(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[InitializeShareGroupStateResponse.PartitionResult], struct("0+")] = []

    results: Annotated[list[InitializeShareGroupStateResponse.InitializeStateResult], struct("0+")] = []
