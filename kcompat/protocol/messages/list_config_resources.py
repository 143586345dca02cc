"""ListConfigResources: request and response (API key 74)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-1", flexible="0+", api_key=74)
class ListConfigResourcesRequest(Message):
    """Request for the resources that have configs (KIP-1142) (key 74, v0 to v1)."""

    resource_types: Annotated[list[int], int8("1+")] = []


@message("0-1", flexible="0+", api_key=74)
class ListConfigResourcesResponse(Message):
    """Response: name and type of each resource (key 74, v0 to v1)."""

    class ConfigResource(Part):
        resource_name: Annotated[str, string("0+")] = ""
        resource_type: Annotated[int, int8("1+", ignorable=True)] = 16

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    config_resources: Annotated[list[ListConfigResourcesResponse.ConfigResource], struct("0+")] = []
