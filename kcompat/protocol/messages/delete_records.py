"""DeleteRecords: request and response (API key 21)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0-2", flexible="2+", api_key=21)
class DeleteRecordsRequest(Message):
    """Request to move the log start of partitions forward to given offsets (key 21, v0 to v2)."""

    class DeleteRecordsPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        offset: Annotated[int, int64("0+")] = 0

    class DeleteRecordsTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DeleteRecordsRequest.DeleteRecordsPartition], struct("0+")] = []

    topics: Annotated[list[DeleteRecordsRequest.DeleteRecordsTopic], struct("0+")] = []
    timeout_ms: Annotated[int, int32("0+")] = 0


@message("0-2", flexible="2+", api_key=21)
class DeleteRecordsResponse(Message):
    """Response: the new low watermark of each partition (key 21, v0 to v2)."""

    class DeleteRecordsPartitionResult(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        low_watermark: Annotated[int, int64("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class DeleteRecordsTopicResult(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DeleteRecordsResponse.DeleteRecordsPartitionResult], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    topics: Annotated[list[DeleteRecordsResponse.DeleteRecordsTopicResult], struct("0+")] = []
