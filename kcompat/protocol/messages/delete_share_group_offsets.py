"""DeleteShareGroupOffsets: request and response (API key 92)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uuid


@message("0", flexible="0+", api_key=92)
class DeleteShareGroupOffsetsRequest(Message):
    """Request to delete the start offsets of a share group (key 92, v0)."""

    class DeleteShareGroupOffsetsRequestTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""

    group_id: Annotated[str, string("0+")] = ""
    topics: Annotated[
        list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic], struct("0+")
    ] = []


@message("0", flexible="0+", api_key=92)
class DeleteShareGroupOffsetsResponse(Message):
    """Response: an error code for each topic (key 92, v0)."""

    class DeleteShareGroupOffsetsResponseTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    responses: Annotated[
        list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic], struct("0+")
    ] = []
