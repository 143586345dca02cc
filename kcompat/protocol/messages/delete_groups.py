"""DeleteGroups: request and response (API key 42)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0-3", flexible="2+", api_key=42)
class DeleteGroupsRequest(Message):
    """Request to delete empty groups (key 42, v0 to v3)."""

    groups_names: Annotated[list[str], string("0+")] = []


@message("0-3", flexible="2+", api_key=42)
class DeleteGroupsResponse(Message):
    """Response: an error code for each group (key 42, v0 to v3)."""

    class DeletableGroupResult(Part):
        group_id: Annotated[str, string("0+")] = ""
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("3+", nullable="3+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[list[DeleteGroupsResponse.DeletableGroupResult], struct("0+")] = []
