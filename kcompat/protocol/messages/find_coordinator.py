"""FindCoordinator: request and response (API key 10)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-6", flexible="3+", api_key=10)
class FindCoordinatorRequest(Message):
    """Request for the coordinators of groups, transactional ids or share partitions (key 10, v0 to v6)."""

    key: Annotated[str, string("0-3")] = ""
    key_type: Annotated[int, int8("1+")] = 0
    coordinator_keys: Annotated[list[str], string("4+")] = []


@message("0-6", flexible="3+", api_key=10)
class FindCoordinatorResponse(Message):
    """Response: coordinator of each key (key 10, v0 to v6)."""

    class Coordinator(Part):
        key: Annotated[str, string("4+")] = ""
        node_id: Annotated[int, int32("4+")] = 0
        host: Annotated[str, string("4+")] = ""
        port: Annotated[int, int32("4+")] = 0
        error_code: Annotated[int, int16("4+")] = 0
        error_message: Annotated[str | None, string("4+", nullable="4+", ignorable=True)] = ""

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0-3")] = 0
    error_message: Annotated[str | None, string("1-3", nullable="1-3", ignorable=True)] = ""
    node_id: Annotated[int, int32("0-3")] = 0
    host: Annotated[str, string("0-3")] = ""
    port: Annotated[int, int32("0-3")] = 0
    coordinators: Annotated[list[FindCoordinatorResponse.Coordinator], struct("4+")] = []
