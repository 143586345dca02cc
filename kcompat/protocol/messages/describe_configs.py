"""DescribeConfigs: request and response (API key 32)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, string, struct


@message("0-4", flexible="4+", api_key=32)
class DescribeConfigsRequest(Message):
    """Request for the configs of topics, brokers and other resources (key 32, v0 to v4)."""

    class DescribeConfigsResource(Part):
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        configuration_keys: Annotated[list[str] | None, string("0+", nullable="0+")] = []

    resources: Annotated[list[DescribeConfigsRequest.DescribeConfigsResource], struct("0+")] = []
    include_synonyms: Annotated[bool, boolean("1+")] = False
    include_documentation: Annotated[bool, boolean("3+")] = False


@message("0-4", flexible="4+", api_key=32)
class DescribeConfigsResponse(Message):
    """Response: configs of each resource, each with its source (key 32, v0 to v4)."""

    class DescribeConfigsSynonym(Part):
        name: Annotated[str, string("1+")] = ""
        value: Annotated[str | None, string("1+", nullable="1+")] = ""
        source: Annotated[int, int8("1+")] = 0

    class DescribeConfigsResourceResult(Part):
        name: Annotated[str, string("0+")] = ""
        value: Annotated[str | None, string("0+", nullable="0+")] = ""
        read_only: Annotated[bool, boolean("0+")] = False
        is_default: Annotated[bool, boolean("0")] = False
        config_source: Annotated[int, int8("1+", ignorable=True)] = -1
        is_sensitive: Annotated[bool, boolean("0+")] = False
        synonyms: Annotated[
            list[DescribeConfigsResponse.DescribeConfigsSynonym], struct("1+", ignorable=True)
        ] = []
        config_type: Annotated[int, int8("3+", ignorable=True)] = 0
        documentation: Annotated[str | None, string("3+", nullable="3+", ignorable=True)] = ""

    class DescribeConfigsResult(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        resource_type: Annotated[int, int8("0+")] = 0
        resource_name: Annotated[str, string("0+")] = ""
        configs: Annotated[list[DescribeConfigsResponse.DescribeConfigsResourceResult], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[list[DescribeConfigsResponse.DescribeConfigsResult], struct("0+")] = []
