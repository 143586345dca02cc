"""CreateAcls: request and response (API key 30)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-3", flexible="2+", api_key=30)
class CreateAclsRequest(Message):
    """Request to add ACLs (key 30, v0 to v3)."""

    class AclCreation(Part):
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        resource_pattern_type: Annotated[int, int8("1+")] = 3
        principal: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        operation: Annotated[int, int8("0+")] = 0
        permission_type: Annotated[int, int8("0+")] = 0

    creations: Annotated[list[CreateAclsRequest.AclCreation], struct("0+")] = []


@message("0-3", flexible="2+", api_key=30)
class CreateAclsResponse(Message):
    """Response: an error code for each ACL (key 30, v0 to v3)."""

    class AclCreationResult(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[list[CreateAclsResponse.AclCreationResult], struct("0+")] = []
