"""DeleteTopics: request and response (API key 20)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uuid


@message("0-6", flexible="4+", api_key=20)
class DeleteTopicsRequest(Message):
    """Request to delete topics by name or id (key 20, v0 to v6)."""

    class DeleteTopicState(Part):
        name: Annotated[str | None, string("6+", nullable="6+")] = None
        topic_id: Annotated[bytes, uuid("6+")] = ZERO_UUID

    topics: Annotated[list[DeleteTopicsRequest.DeleteTopicState], struct("6+")] = []
    topic_names: Annotated[list[str], string("0-5", ignorable=True)] = []
    timeout_ms: Annotated[int, int32("0+")] = 0


@message("0-6", flexible="4+", api_key=20)
class DeleteTopicsResponse(Message):
    """Response: an error code for each topic (key 20, v0 to v6)."""

    class DeletableTopicResult(Part):
        name: Annotated[str | None, string("0+", nullable="6+")] = ""
        topic_id: Annotated[bytes, uuid("6+", ignorable=True)] = ZERO_UUID
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    responses: Annotated[list[DeleteTopicsResponse.DeletableTopicResult], struct("0+")] = []
