"""OffsetCommit: request and response (API key 8)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0-10", flexible="8+", api_key=8)
class OffsetCommitRequest(Message):
    """Request to commit offsets of a group (key 8, v0 to v10)."""

    class OffsetCommitRequestPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        committed_offset: Annotated[int, int64("0+")] = 0
        committed_leader_epoch: Annotated[int, int32("6+", ignorable=True)] = -1
        commit_timestamp: Annotated[int, int64("1")] = -1
        committed_metadata: Annotated[str | None, string("0+", nullable="0+")] = ""

    class OffsetCommitRequestTopic(Part):
        name: Annotated[str, string("0-9", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[OffsetCommitRequest.OffsetCommitRequestPartition], struct("0+")] = []

    group_id: Annotated[str, string("0+")] = ""
    generation_id_or_member_epoch: Annotated[int, int32("1+", ignorable=True)] = -1
    member_id: Annotated[str, string("1+", ignorable=True)] = ""
    group_instance_id: Annotated[str | None, string("7+", nullable="7+")] = None
    retention_time_ms: Annotated[int, int64("2-4", ignorable=True)] = -1
    topics: Annotated[list[OffsetCommitRequest.OffsetCommitRequestTopic], struct("0+")] = []


@message("0-10", flexible="8+", api_key=8)
class OffsetCommitResponse(Message):
    """Response: an error code for each partition (key 8, v0 to v10)."""

    class OffsetCommitResponsePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class OffsetCommitResponseTopic(Part):
        name: Annotated[str, string("0-9", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[OffsetCommitResponse.OffsetCommitResponsePartition], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("3+", ignorable=True)] = 0
    topics: Annotated[list[OffsetCommitResponse.OffsetCommitResponseTopic], struct("0+")] = []
