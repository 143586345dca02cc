"""IncrementalAlterConfigs: request and response (API key 44)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, string, struct


@message("0-1", flexible="1+", api_key=44)
class IncrementalAlterConfigsRequest(Message):
    """Request to set or delete configs, or to append to or subtract from list configs (key 44, v0 to v1)."""

    class AlterableConfig(Part):
        name: Annotated[str, string("0+")] = ""
        config_operation: Annotated[int, int8("0+")] = 0
        value: Annotated[str | None, string("0+", nullable="0+")] = ""

    class AlterConfigsResource(Part):
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        configs: Annotated[list[IncrementalAlterConfigsRequest.AlterableConfig], struct("0+")] = []

    resources: Annotated[list[IncrementalAlterConfigsRequest.AlterConfigsResource], struct("0+")] = []
    validate_only: Annotated[bool, boolean("0+")] = False


@message("0-1", flexible="1+", api_key=44)
class IncrementalAlterConfigsResponse(Message):
    """Response: an error code for each resource (key 44, v0 to v1)."""

    class AlterConfigsResourceResponse(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    responses: Annotated[
        list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse], struct("0+")
    ] = []
