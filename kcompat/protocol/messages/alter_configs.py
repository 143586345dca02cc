"""AlterConfigs: request and response (API key 33)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, string, struct


@message("0-2", flexible="2+", api_key=33)
class AlterConfigsRequest(Message):
    """Request to replace the dynamic configs of resources (key 33, v0 to v2)."""

    class AlterableConfig(Part):
        name: Annotated[str, string("0+")] = ""
        value: Annotated[str | None, string("0+", nullable="0+")] = ""

    class AlterConfigsResource(Part):
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        configs: Annotated[list[AlterConfigsRequest.AlterableConfig], struct("0+")] = []

    resources: Annotated[list[AlterConfigsRequest.AlterConfigsResource], struct("0+")] = []
    validate_only: Annotated[bool, boolean("0+")] = False


@message("0-2", flexible="2+", api_key=33)
class AlterConfigsResponse(Message):
    """Response: an error code for each resource (key 33, v0 to v2)."""

    class AlterConfigsResourceResponse(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    responses: Annotated[list[AlterConfigsResponse.AlterConfigsResourceResponse], struct("0+")] = []
