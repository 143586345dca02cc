"""OffsetDelete: request and response (API key 47)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0", api_key=47)
class OffsetDeleteRequest(Message):
    """Request to delete committed offsets of a group (key 47, v0)."""

    class OffsetDeleteRequestPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0

    class OffsetDeleteRequestTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[OffsetDeleteRequest.OffsetDeleteRequestPartition], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[list[OffsetDeleteRequest.OffsetDeleteRequestTopic], struct("0+")] = []


@message("0", api_key=47)
class OffsetDeleteResponse(Message):
    """Response: an error code for each partition (key 47, v0)."""

    class OffsetDeleteResponsePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class OffsetDeleteResponseTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[OffsetDeleteResponse.OffsetDeleteResponsePartition], struct("0+")] = []

    error_code: Annotated[int, int16("0+")] = 0
    throttle_time_ms: Annotated[int, int32("0+", ignorable=True)] = 0
    topics: Annotated[list[OffsetDeleteResponse.OffsetDeleteResponseTopic], struct("0+")] = []
