"""Heartbeat: request and response (API key 12)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int16, int32, string


@message("0-4", flexible="4+", api_key=12)
class HeartbeatRequest(Message):
    """Request of a classic group's member that renews its session (key 12, v0 to v4)."""

    group_id: Annotated[str, string("0+")] = ""
    generation_id: Annotated[int, int32("0+")] = 0
    member_id: Annotated[str, string("0+")] = ""
    group_instance_id: Annotated[str | None, string("3+", nullable="3+")] = None


@message("0-4", flexible="4+", api_key=12)
class HeartbeatResponse(Message):
    """Response: an error code; REBALANCE_IN_PROGRESS makes the member rejoin (key 12, v0 to v4)."""

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
