"""ShareFetch: request and response (API key 78)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import (
    ZERO_UUID,
    Part,
    Payload,
    boolean,
    int8,
    int16,
    int32,
    int64,
    record_bytes,
    string,
    struct,
    uuid,
)


@message("0-2", flexible="0+", api_key=78)
class ShareFetchRequest(Message):
    """Request to acquire records for a share group, and to acknowledge earlier ones (key 78, v0 to v2)."""

    class AcknowledgementBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        acknowledge_types: Annotated[list[int], int8("0+")] = []

    class FetchPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        partition_max_bytes: Annotated[int, int32("0")] = 0
        acknowledgement_batches: Annotated[list[ShareFetchRequest.AcknowledgementBatch], struct("0+")] = []

    class FetchTopic(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ShareFetchRequest.FetchPartition], struct("0+")] = []

    class ForgottenTopic(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    group_id: Annotated[str | None, string("0+", nullable="0+")] = None
    member_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    share_session_epoch: Annotated[int, int32("0+")] = 0
    max_wait_ms: Annotated[int, int32("0+")] = 0
    min_bytes: Annotated[int, int32("0+")] = 0
    max_bytes: Annotated[int, int32("0+")] = 0x7FFFFFFF
    max_records: Annotated[int, int32("1+")] = 0
    batch_size: Annotated[int, int32("1+")] = 0
    share_acquire_mode: Annotated[int, int8("2+", ignorable=True)] = 0
    is_renew_ack: Annotated[bool, boolean("2+")] = False
    topics: Annotated[list[ShareFetchRequest.FetchTopic], struct("0+")] = []
    forgotten_topics_data: Annotated[list[ShareFetchRequest.ForgottenTopic], struct("0+")] = []


@message("0-2", flexible="0+", api_key=78)
class ShareFetchResponse(Message):
    """Response: the acquired records (key 78, v0 to v2)."""

    class LeaderIdAndEpoch(Part):
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class AcquiredRecords(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        delivery_count: Annotated[int, int16("0+")] = 0

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        acknowledge_error_code: Annotated[int, int16("0+")] = 0
        acknowledge_error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        current_leader: Annotated[ShareFetchResponse.LeaderIdAndEpoch, struct("0+")] = field(
            default_factory=lambda: ShareFetchResponse.LeaderIdAndEpoch()
        )
        records: Annotated[Payload | None, record_bytes("0+", nullable="0")] = None
        acquired_records: Annotated[list[ShareFetchResponse.AcquiredRecords], struct("0+")] = []

    class ShareFetchableTopicResponse(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[ShareFetchResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("0+")] = 0
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0
        rack: Annotated[str | None, string("0+", nullable="0+")] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int, int32("1+")] = 0
    responses: Annotated[list[ShareFetchResponse.ShareFetchableTopicResponse], struct("0+")] = []
    node_endpoints: Annotated[list[ShareFetchResponse.NodeEndpoint], struct("0+")] = []
