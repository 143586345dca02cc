"""DeleteShareGroupState: request and response (API key 86)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uuid


@message("0", flexible="0+", api_key=86)
class DeleteShareGroupStateRequest(Message):
    """Request to delete the persisted state of share partitions (key 86, v0)."""

    class PartitionData(Part):
        partition: Annotated[int, int32("0+")] = 0

    class DeleteStateData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[DeleteShareGroupStateRequest.PartitionData], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[DeleteShareGroupStateRequest.DeleteStateData], struct("0+")] = []


@message("0", flexible="0+", api_key=86)
class DeleteShareGroupStateResponse(Message):
    """Response: an error code for each partition (key 86, v0)."""

    class PartitionResult(Part):
        partition: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    class DeleteStateResult(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[DeleteShareGroupStateResponse.PartitionResult], struct("0+")] = []

    results: Annotated[list[DeleteShareGroupStateResponse.DeleteStateResult], struct("0+")] = []
