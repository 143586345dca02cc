"""DeleteAcls: request and response (API key 31)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-3", flexible="2+", api_key=31)
class DeleteAclsRequest(Message):
    """Request to delete the ACLs that match filters (key 31, v0 to v3)."""

    class DeleteAclsFilter(Part):
        resource_type_filter: Annotated[int, int8("0+")] = 0
        resource_name_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
        pattern_type_filter: Annotated[int, int8("1+")] = 3
        principal_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
        host_filter: Annotated[str | None, string("0+", nullable="0+")] = ""
        operation: Annotated[int, int8("0+")] = 0
        permission_type: Annotated[int, int8("0+")] = 0

    filters: Annotated[list[DeleteAclsRequest.DeleteAclsFilter], struct("0+")] = []


@message("0-3", flexible="2+", api_key=31)
class DeleteAclsResponse(Message):
    """Response: the deleted ACLs for each filter (key 31, v0 to v3)."""

    class DeleteAclsMatchingAcl(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        pattern_type: Annotated[int, int8("1+")] = 3
        principal: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        operation: Annotated[int, int8("0+")] = 0
        permission_type: Annotated[int, int8("0+")] = 0

    class DeleteAclsFilterResult(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        matching_acls: Annotated[list[DeleteAclsResponse.DeleteAclsMatchingAcl], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    filter_results: Annotated[list[DeleteAclsResponse.DeleteAclsFilterResult], struct("0+")] = []
