"""SyncGroup: request and response (API key 14)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, int16, int32, string, struct


@message("0-5", flexible="4+", api_key=14)
class SyncGroupRequest(Message):
    """Request for the member's assignment; the leader sends those of all members (key 14, v0 to v5)."""

    class SyncGroupRequestAssignment(Part):
        member_id: Annotated[str, string("0+")] = ""
        assignment: Annotated[bytes, binary("0+")] = b""

    group_id: Annotated[str, string("0+")] = ""
    generation_id: Annotated[int, int32("0+")] = 0
    member_id: Annotated[str, string("0+")] = ""
    group_instance_id: Annotated[str | None, string("3+", nullable="3+")] = None
    protocol_type: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
    assignments: Annotated[list[SyncGroupRequest.SyncGroupRequestAssignment], struct("0+")] = []


@message("0-5", flexible="4+", api_key=14)
class SyncGroupResponse(Message):
    """Response: the member's assignment (key 14, v0 to v5)."""

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    protocol_type: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
    assignment: Annotated[bytes, binary("0+")] = b""
