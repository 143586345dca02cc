"""BrokerHeartbeat: request and response (API key 63)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import boolean, int16, int32, int64, uuid


@message("0-2", flexible="0+", api_key=63)
class BrokerHeartbeatRequest(Message):
    """Request of a KRaft broker that renews its registration at the controller (key 63, v0 to v2)."""

    broker_id: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("0+")] = -1
    current_metadata_offset: Annotated[int, int64("0+")] = 0
    want_fence: Annotated[bool, boolean("0+")] = False
    want_shut_down: Annotated[bool, boolean("0+")] = False
    offline_log_dirs: Annotated[list[bytes], uuid("1+", tag=0)] = []
    cordoned_log_dirs: Annotated[list[bytes] | None, uuid("2+", nullable="2+", tag=1)] = None


@message("0-2", flexible="0+", api_key=63)
class BrokerHeartbeatResponse(Message):
    """Response: whether the broker is caught up, is fenced and should shut down (key 63, v0 to v2)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    is_caught_up: Annotated[bool, boolean("0+")] = False
    is_fenced: Annotated[bool, boolean("0+")] = True
    should_shut_down: Annotated[bool, boolean("0+")] = False
