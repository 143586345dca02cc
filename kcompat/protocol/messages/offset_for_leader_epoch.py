"""OffsetForLeaderEpoch: request and response (API key 23)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0-4", flexible="4+", api_key=23)
class OffsetForLeaderEpochRequest(Message):
    """Request for the end offsets of leader epochs (key 23, v0 to v4)."""

    class OffsetForLeaderPartition(Part):
        partition: Annotated[int, int32("0+")] = 0
        current_leader_epoch: Annotated[int, int32("2+", ignorable=True)] = -1
        leader_epoch: Annotated[int, int32("0+")] = 0

    class OffsetForLeaderTopic(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition], struct("0+")] = []

    replica_id: Annotated[int, int32("3+", ignorable=True)] = -2
    topics: Annotated[list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic], struct("0+")] = []


@message("0-4", flexible="4+", api_key=23)
class OffsetForLeaderEpochResponse(Message):
    """Response: the end offset of each epoch (key 23, v0 to v4)."""

    class EpochEndOffset(Part):
        error_code: Annotated[int, int16("0+")] = 0
        partition: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("1+", ignorable=True)] = -1
        end_offset: Annotated[int, int64("0+")] = -1

    class OffsetForLeaderTopicResult(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[OffsetForLeaderEpochResponse.EpochEndOffset], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("2+", ignorable=True)] = 0
    topics: Annotated[list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult], struct("0+")] = []
