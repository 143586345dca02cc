"""TxnOffsetCommit: request and response (API key 28)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0-6", flexible="3+", api_key=28)
class TxnOffsetCommitRequest(Message):
    """Request to commit offsets of a group when the transaction commits (key 28, v0 to v6)."""

    class TxnOffsetCommitRequestPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        committed_offset: Annotated[int, int64("0+")] = 0
        committed_leader_epoch: Annotated[int, int32("2+", ignorable=True)] = -1
        committed_metadata: Annotated[str | None, string("0+", nullable="0+")] = ""

    class TxnOffsetCommitRequestTopic(Part):
        name: Annotated[str, string("0-5", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("6+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition], struct("0+")] = []

    transactional_id: Annotated[str, string("0+")] = ""
    group_id: Annotated[str, string("0+")] = ""
    producer_id: Annotated[int, int64("0+")] = 0
    producer_epoch: Annotated[int, int16("0+")] = 0
    generation_id_or_member_epoch: Annotated[int, int32("3+")] = -1
    member_id: Annotated[str, string("3+")] = ""
    group_instance_id: Annotated[str | None, string("3+", nullable="3+")] = None
    topics: Annotated[list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic], struct("0+")] = []


@message("0-6", flexible="3+", api_key=28)
class TxnOffsetCommitResponse(Message):
    """Response: an error code for each partition (key 28, v0 to v6)."""

    class TxnOffsetCommitResponsePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class TxnOffsetCommitResponseTopic(Part):
        name: Annotated[str, string("0-5", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("6+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[
            list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    topics: Annotated[list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic], struct("0+")] = []
