"""LeaveGroup: request and response (API key 13)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0-5", flexible="4+", api_key=13)
class LeaveGroupRequest(Message):
    """Request to remove members from a classic group (key 13, v0 to v5)."""

    class MemberIdentity(Part):
        member_id: Annotated[str, string("3+")] = ""
        group_instance_id: Annotated[str | None, string("3+", nullable="3+")] = None
        reason: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0-2")] = ""
    members: Annotated[list[LeaveGroupRequest.MemberIdentity], struct("3+")] = []


@message("0-5", flexible="4+", api_key=13)
class LeaveGroupResponse(Message):
    """Response: an error code for each member (key 13, v0 to v5)."""

    class MemberResponse(Part):
        member_id: Annotated[str, string("3+")] = ""
        group_instance_id: Annotated[str | None, string("3+", nullable="3+")] = ""
        error_code: Annotated[int, int16("3+")] = 0

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    members: Annotated[list[LeaveGroupResponse.MemberResponse], struct("3+")] = []
