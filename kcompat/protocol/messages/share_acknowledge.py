"""ShareAcknowledge: request and response (API key 79)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int8, int16, int32, int64, string, struct, uuid


@message("0-2", flexible="0+", api_key=79)
class ShareAcknowledgeRequest(Message):
    """Request to acknowledge, release or reject acquired records (key 79, v0 to v2)."""

    class AcknowledgementBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        acknowledge_types: Annotated[list[int], int8("0+")] = []

    class AcknowledgePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        acknowledgement_batches: Annotated[
            list[ShareAcknowledgeRequest.AcknowledgementBatch], struct("0+")
        ] = []

    class AcknowledgeTopic(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ShareAcknowledgeRequest.AcknowledgePartition], struct("0+")] = []

    group_id: Annotated[str | None, string("0+", nullable="0+")] = None
    member_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    share_session_epoch: Annotated[int, int32("0+")] = 0
    is_renew_ack: Annotated[bool, boolean("2+")] = False
    topics: Annotated[list[ShareAcknowledgeRequest.AcknowledgeTopic], struct("0+")] = []


@message("0-2", flexible="0+", api_key=79)
class ShareAcknowledgeResponse(Message):
    """Response: an error code for each partition (key 79, v0 to v2)."""

    class LeaderIdAndEpoch(Part):
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        current_leader: Annotated[ShareAcknowledgeResponse.LeaderIdAndEpoch, struct("0+")] = field(
            default_factory=lambda: ShareAcknowledgeResponse.LeaderIdAndEpoch()
        )

    class ShareAcknowledgeTopicResponse(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ShareAcknowledgeResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("0+")] = 0
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0
        rack: Annotated[str | None, string("0+", nullable="0+")] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int, int32("2+", ignorable=True)] = 0
    responses: Annotated[list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse], struct("0+")] = []
    node_endpoints: Annotated[list[ShareAcknowledgeResponse.NodeEndpoint], struct("0+")] = []
