"""ConsumerGroupHeartbeat: request and response (API key 68)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uuid


@message("0-1", flexible="0+", api_key=68)
class ConsumerGroupHeartbeatRequest(Message):
    """Request of a consumer group's member: subscription and partitions (KIP-848) (key 68, v0 to v1)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""
    member_epoch: Annotated[int, int32("0+")] = 0
    instance_id: Annotated[str | None, string("0+", nullable="0+")] = None
    rack_id: Annotated[str | None, string("0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, int32("0+")] = -1
    subscribed_topic_names: Annotated[list[str] | None, string("0+", nullable="0+")] = None
    subscribed_topic_regex: Annotated[str | None, string("1+", nullable="1+")] = None
    server_assignor: Annotated[str | None, string("0+", nullable="0+")] = None
    topic_partitions: Annotated[
        list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None, struct("0+", nullable="0+")
    ] = None


@message("0-1", flexible="0+", api_key=68)
class ConsumerGroupHeartbeatResponse(Message):
    """Response: epoch and assignment of the member (key 68, v0 to v1)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    class Assignment(Part):
        topic_partitions: Annotated[list[ConsumerGroupHeartbeatResponse.TopicPartitions], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    member_id: Annotated[str | None, string("0+", nullable="0+")] = None
    member_epoch: Annotated[int, int32("0+")] = 0
    heartbeat_interval_ms: Annotated[int, int32("0+")] = 0
    assignment: Annotated[ConsumerGroupHeartbeatResponse.Assignment | None, struct("0+", nullable="0+")] = (
        None
    )
