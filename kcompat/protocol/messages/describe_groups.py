"""DescribeGroups: request and response (API key 15)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, boolean, int16, int32, string, struct


@message("0-6", flexible="5+", api_key=15)
class DescribeGroupsRequest(Message):
    """Request for the state and members of classic groups (key 15, v0 to v6)."""

    groups: Annotated[list[str], string("0+")] = []
    include_authorized_operations: Annotated[bool, boolean("3+")] = False


@message("0-6", flexible="5+", api_key=15)
class DescribeGroupsResponse(Message):
    """Response: state and members of each group (key 15, v0 to v6)."""

    class DescribedGroupMember(Part):
        member_id: Annotated[str, string("0+")] = ""
        group_instance_id: Annotated[str | None, string("4+", nullable="4+", ignorable=True)] = None
        client_id: Annotated[str, string("0+")] = ""
        client_host: Annotated[str, string("0+")] = ""
        member_metadata: Annotated[bytes, binary("0+")] = b""
        member_assignment: Annotated[bytes, binary("0+")] = b""

    class DescribedGroup(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("6+", nullable="6+")] = None
        group_id: Annotated[str, string("0+")] = ""
        group_state: Annotated[str, string("0+")] = ""
        protocol_type: Annotated[str, string("0+")] = ""
        protocol_data: Annotated[str, string("0+")] = ""
        members: Annotated[list[DescribeGroupsResponse.DescribedGroupMember], struct("0+")] = []
        authorized_operations: Annotated[int, int32("3+")] = -0x80000000

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    groups: Annotated[list[DescribeGroupsResponse.DescribedGroup], struct("0+")] = []
