"""DescribeLogDirs: request and response (API key 35)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, int64, string, struct


@message("0-5", flexible="2+", api_key=35)
class DescribeLogDirsRequest(Message):
    """Request for the contents of a broker's log directories (key 35, v0 to v5)."""

    class DescribableLogDirTopic(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    topics: Annotated[
        list[DescribeLogDirsRequest.DescribableLogDirTopic] | None, struct("0+", nullable="0+")
    ] = []


@message("0-5", flexible="2+", api_key=35)
class DescribeLogDirsResponse(Message):
    """Response: size of each partition by log directory (key 35, v0 to v5)."""

    class DescribeLogDirsPartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        partition_size: Annotated[int, int64("0+")] = 0
        offset_lag: Annotated[int, int64("0+")] = 0
        is_future_key: Annotated[bool, boolean("0+")] = False

    class DescribeLogDirsTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DescribeLogDirsResponse.DescribeLogDirsPartition], struct("0+")] = []

    class DescribeLogDirsResult(Part):
        error_code: Annotated[int, int16("0+")] = 0
        log_dir: Annotated[str, string("0+")] = ""
        topics: Annotated[list[DescribeLogDirsResponse.DescribeLogDirsTopic], struct("0+")] = []
        total_bytes: Annotated[int, int64("4+", ignorable=True)] = -1
        usable_bytes: Annotated[int, int64("4+", ignorable=True)] = -1
        is_cordoned: Annotated[bool, boolean("5+", ignorable=True)] = False

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("3+", ignorable=True)] = 0
    results: Annotated[list[DescribeLogDirsResponse.DescribeLogDirsResult], struct("0+")] = []
