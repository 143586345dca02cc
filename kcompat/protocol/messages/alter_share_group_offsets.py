"""AlterShareGroupOffsets: request and response (API key 91)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0", flexible="0+", api_key=91)
class AlterShareGroupOffsetsRequest(Message):
    """Request to set the start offsets of a share group (key 91, v0)."""

    class AlterShareGroupOffsetsRequestPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0

    class AlterShareGroupOffsetsRequestTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition], struct("0+")
        ] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[
        list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic], struct("0+")
    ] = []


@message("0", flexible="0+", api_key=91)
class AlterShareGroupOffsetsResponse(Message):
    """Response: an error code for each partition (key 91, v0)."""

    class AlterShareGroupOffsetsResponsePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    class AlterShareGroupOffsetsResponseTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[
            list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    responses: Annotated[
        list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic], struct("0+")
    ] = []
