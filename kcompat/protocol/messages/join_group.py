"""JoinGroup: request and response (API key 11)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, boolean, int16, int32, string, struct


@message("0-9", flexible="6+", api_key=11)
class JoinGroupRequest(Message):
    """Request of a consumer to join a classic group (key 11, v0 to v9)."""

    class JoinGroupRequestProtocol(Part):
        name: Annotated[str, string("0+")] = ""
        metadata: Annotated[bytes, binary("0+")] = b""

    group_id: Annotated[str, string("0+")] = ""
    session_timeout_ms: Annotated[int, int32("0+")] = 0
    rebalance_timeout_ms: Annotated[int, int32("1+", ignorable=True)] = -1
    member_id: Annotated[str, string("0+")] = ""
    group_instance_id: Annotated[str | None, string("5+", nullable="5+")] = None
    protocol_type: Annotated[str, string("0+")] = ""
    protocols: Annotated[list[JoinGroupRequest.JoinGroupRequestProtocol], struct("0+")] = []
    reason: Annotated[str | None, string("8+", nullable="8+", ignorable=True)] = None


@message("0-9", flexible="6+", api_key=11)
class JoinGroupResponse(Message):
    """Response: the group's generation and, for the leader, its members (key 11, v0 to v9)."""

    class JoinGroupResponseMember(Part):
        member_id: Annotated[str, string("0+")] = ""
        group_instance_id: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
        metadata: Annotated[bytes, binary("0+")] = b""

    throttle_time_ms: Annotated[int, int32("2+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    generation_id: Annotated[int, int32("0+")] = -1
    protocol_type: Annotated[str | None, string("7+", nullable="7+", ignorable=True)] = None
    protocol_name: Annotated[str | None, string("0+", nullable="7+")] = ""
    leader: Annotated[str, string("0+")] = ""
    skip_assignment: Annotated[bool, boolean("9+")] = False
    member_id: Annotated[str, string("0+")] = ""
    members: Annotated[list[JoinGroupResponse.JoinGroupResponseMember], struct("0+")] = []
