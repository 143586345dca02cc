"""ListGroups: request and response (API key 16)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0-5", flexible="3+", api_key=16)
class ListGroupsRequest(Message):
    """Request for the groups that a broker coordinates (key 16, v0 to v5)."""

    states_filter: Annotated[list[str], string("4+")] = []
    types_filter: Annotated[list[str], string("5+")] = []


@message("0-5", flexible="3+", api_key=16)
class ListGroupsResponse(Message):
    """Response: the groups with their states and types (key 16, v0 to v5)."""

    class ListedGroup(Part):
        group_id: Annotated[str, string("0+")] = ""
        protocol_type: Annotated[str, string("0+")] = ""
        group_state: Annotated[str, string("4+", ignorable=True)] = ""
        group_type: Annotated[str, string("5+", ignorable=True)] = ""

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    groups: Annotated[list[ListGroupsResponse.ListedGroup], struct("0+")] = []
