"""ListOffsets: request and response (API key 2)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, int64, string, struct


@message("0-11", flexible="6+", api_key=2)
class ListOffsetsRequest(Message):
    """Request for the offset at a timestamp; -1 stands for the log end (key 2, v0 to v11)."""

    class ListOffsetsPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        current_leader_epoch: Annotated[int, int32("4+", ignorable=True)] = -1
        timestamp: Annotated[int, int64("0+")] = 0
        max_num_offsets: Annotated[int, int32("0")] = 1

    class ListOffsetsTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[ListOffsetsRequest.ListOffsetsPartition], struct("0+")] = []

    replica_id: Annotated[int, int32("0+")] = 0
    isolation_level: Annotated[int, int8("2+")] = 0
    topics: Annotated[list[ListOffsetsRequest.ListOffsetsTopic], struct("0+")] = []
    timeout_ms: Annotated[int, int32("10+", ignorable=True)] = 0


@message("0-11", flexible="6+", api_key=2)
class ListOffsetsResponse(Message):
    """Response: an offset for each partition (key 2, v0 to v11)."""

    class ListOffsetsPartitionResponse(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        old_style_offsets: Annotated[list[int], int64("0")] = []
        timestamp: Annotated[int, int64("1+")] = -1
        offset: Annotated[int, int64("1+")] = -1
        leader_epoch: Annotated[int, int32("4+")] = -1

    class ListOffsetsTopicResponse(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[ListOffsetsResponse.ListOffsetsPartitionResponse], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("2+", ignorable=True)] = 0
    topics: Annotated[list[ListOffsetsResponse.ListOffsetsTopicResponse], struct("0+")] = []
