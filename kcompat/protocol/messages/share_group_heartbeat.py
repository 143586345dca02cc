"""ShareGroupHeartbeat: request and response (API key 76)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uuid


@message("0-1", flexible="0+", api_key=76)
class ShareGroupHeartbeatRequest(Message):
    """Request of a share group's member: its subscription (KIP-932) (key 76, v0 to v1)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""
    member_epoch: Annotated[int, int32("0+")] = 0
    rack_id: Annotated[str | None, string("0+", nullable="0+")] = None
    subscribed_topic_names: Annotated[list[str] | None, string("0+", nullable="0+")] = None


@message("0-1", flexible="0+", api_key=76)
class ShareGroupHeartbeatResponse(Message):
    """Response: epoch and assignment of the member (key 76, v0 to v1)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    class Assignment(Part):
        topic_partitions: Annotated[list[ShareGroupHeartbeatResponse.TopicPartitions], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    member_id: Annotated[str | None, string("0+", nullable="0+")] = None
    member_epoch: Annotated[int, int32("0+")] = 0
    heartbeat_interval_ms: Annotated[int, int32("0+")] = 0
    assignment: Annotated[ShareGroupHeartbeatResponse.Assignment | None, struct("0+", nullable="0+")] = None
