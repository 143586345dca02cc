"""DescribeShareGroupOffsets: request and response (API key 90)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uuid


@message("0-1", flexible="0+", api_key=90)
class DescribeShareGroupOffsetsRequest(Message):
    """Request for the start offsets of share groups (key 90, v0 to v1)."""

    class DescribeShareGroupOffsetsRequestTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class DescribeShareGroupOffsetsRequestGroup(Part):
        group_id: Annotated[str, string("0+")] = ""
        topics: Annotated[
            list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None,
            struct("0+", nullable="0+"),
        ] = []

    groups: Annotated[
        list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup], struct("0+")
    ] = []


@message("0-1", flexible="0+", api_key=90)
class DescribeShareGroupOffsetsResponse(Message):
    """Response: start offset of each share partition (key 90, v0 to v1)."""

    class DescribeShareGroupOffsetsResponsePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        start_offset: Annotated[int, int64("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        lag: Annotated[int, int64("1+", ignorable=True)] = -1
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    class DescribeShareGroupOffsetsResponseTopic(Part):
        topic_name: Annotated[str, string("0+")] = ""
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[
            list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition], struct("0+")
        ] = []

    class DescribeShareGroupOffsetsResponseGroup(Part):
        group_id: Annotated[str, string("0+")] = ""
        topics: Annotated[
            list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic], struct("0+")
        ] = []
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    groups: Annotated[
        list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup], struct("0+")
    ] = []
