"""CreatePartitions: request and response (API key 37)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, string, struct


@message("0-3", flexible="2+", api_key=37)
class CreatePartitionsRequest(Message):
    """Request to add partitions to topics (key 37, v0 to v3)."""

    class CreatePartitionsAssignment(Part):
        broker_ids: Annotated[list[int], int32("0+")] = []

    class CreatePartitionsTopic(Part):
        name: Annotated[str, string("0+")] = ""
        count: Annotated[int, int32("0+")] = 0
        assignments: Annotated[
            list[CreatePartitionsRequest.CreatePartitionsAssignment] | None, struct("0+", nullable="0+")
        ] = []

    topics: Annotated[list[CreatePartitionsRequest.CreatePartitionsTopic], struct("0+")] = []
    timeout_ms: Annotated[int, int32("0+")] = 0
    validate_only: Annotated[bool, boolean("0+")] = False


@message("0-3", flexible="2+", api_key=37)
class CreatePartitionsResponse(Message):
    """Response: an error code for each topic (key 37, v0 to v3)."""

    class CreatePartitionsTopicResult(Part):
        name: Annotated[str, string("0+")] = ""
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[list[CreatePartitionsResponse.CreatePartitionsTopicResult], struct("0+")] = []
