"""DescribeTopicPartitions: request and response (API key 75)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int16, int32, string, struct, uuid


@message("0", flexible="0+", api_key=75)
class DescribeTopicPartitionsRequest(Message):
    """Request for a page of topics and partitions (KIP-966) (key 75, v0)."""

    class TopicRequest(Part):
        name: Annotated[str, string("0+")] = ""

    class Cursor(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partition_index: Annotated[int, int32("0+")] = 0

    topics: Annotated[list[DescribeTopicPartitionsRequest.TopicRequest], struct("0+")] = []
    response_partition_limit: Annotated[int, int32("0+")] = 2000
    cursor: Annotated[DescribeTopicPartitionsRequest.Cursor | None, struct("0+", nullable="0+")] = None


@message("0", flexible="0+", api_key=75)
class DescribeTopicPartitionsResponse(Message):
    """Response: one page, and the position at which the next page begins (key 75, v0)."""

    class DescribeTopicPartitionsResponsePartition(Part):
        error_code: Annotated[int, int16("0+")] = 0
        partition_index: Annotated[int, int32("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+", ignorable=True)] = -1
        replica_nodes: Annotated[list[int], int32("0+")] = []
        isr_nodes: Annotated[list[int], int32("0+")] = []
        eligible_leader_replicas: Annotated[list[int] | None, int32("0+", nullable="0+")] = None
        last_known_elr: Annotated[list[int] | None, int32("0+", nullable="0+")] = None
        offline_replicas: Annotated[list[int], int32("0+", ignorable=True)] = []

    class DescribeTopicPartitionsResponseTopic(Part):
        error_code: Annotated[int, int16("0+")] = 0
        name: Annotated[str | None, string("0+", nullable="0+")] = ""
        topic_id: Annotated[bytes, uuid("0+", ignorable=True)] = ZERO_UUID
        is_internal: Annotated[bool, boolean("0+", ignorable=True)] = False
        partitions: Annotated[
            list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition], struct("0+")
        ] = []
        topic_authorized_operations: Annotated[int, int32("0+")] = -0x80000000

    class Cursor(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partition_index: Annotated[int, int32("0+")] = 0

    throttle_time_ms: Annotated[int, int32("0+", ignorable=True)] = 0
    topics: Annotated[
        list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic], struct("0+")
    ] = []
    next_cursor: Annotated[DescribeTopicPartitionsResponse.Cursor | None, struct("0+", nullable="0+")] = None
