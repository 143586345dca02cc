"""DescribeAcls: request and response (API key 29)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-3", flexible="2+", api_key=29)
class DescribeAclsRequest(Message):
    """Request for the ACLs that match a filter (key 29, v0 to v3)."""

    resource_type_filter: Annotated[int, int8("0+")] = 0
    resource_name_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
    pattern_type_filter: Annotated[int, int8("1+")] = 3
    principal_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
    host_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
    operation: Annotated[int, int8("0+")] = 0
    permission_type: Annotated[int, int8("0+")] = 0


@message("0-3", flexible="2+", api_key=29)
class DescribeAclsResponse(Message):
    """Response: the ACLs by resource (key 29, v0 to v3)."""

    class AclDescription(Part):
        principal: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        operation: Annotated[int, int8("0+")] = 0
        permission_type: Annotated[int, int8("0+")] = 0

    class DescribeAclsResource(Part):
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        pattern_type: Annotated[int, int8("1+")] = 3
        acls: Annotated[list[DescribeAclsResponse.AclDescription], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    resources: Annotated[list[DescribeAclsResponse.DescribeAclsResource], struct("0+")] = []
