"""DescribeCluster: request and response (API key 60)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, string, struct


@message("0-2", flexible="0+", api_key=60)
class DescribeClusterRequest(Message):
    """Request for the brokers and the controller (key 60, v0 to v2)."""

    include_cluster_authorized_operations: Annotated[bool, boolean("0+")] = False
    endpoint_type: Annotated[int, int8("1+")] = 1
    include_fenced_brokers: Annotated[bool, boolean("2+")] = False


@message("0-2", flexible="0+", api_key=60)
class DescribeClusterResponse(Message):
    """Response: cluster id, controller and brokers (key 60, v0 to v2)."""

    class DescribeClusterBroker(Part):
        broker_id: Annotated[int, int32("0+")] = 0
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0
        rack: Annotated[str | None, string("0+", nullable="0+")] = None
        is_fenced: Annotated[bool, boolean("2+")] = False

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    endpoint_type: Annotated[int, int8("1+")] = 1
    cluster_id: Annotated[str, string("0+")] = ""
    controller_id: Annotated[int, int32("0+")] = -1
    brokers: Annotated[list[DescribeClusterResponse.DescribeClusterBroker], struct("0+")] = []
    cluster_authorized_operations: Annotated[int, int32("0+")] = -0x80000000
