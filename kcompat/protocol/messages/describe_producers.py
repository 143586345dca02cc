"""DescribeProducers: request and response (API key 61)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0", flexible="0+", api_key=61)
class DescribeProducersRequest(Message):
    """Request for the active producers of partitions (key 61, v0)."""

    class TopicRequest(Part):
        name: Annotated[str, string("0+")] = ""
        partition_indexes: Annotated[list[int], int32("0+")] = []

    topics: Annotated[list[DescribeProducersRequest.TopicRequest], struct("0+")] = []


@message("0", flexible="0+", api_key=61)
class DescribeProducersResponse(Message):
    """Response: epoch, sequence number and open transaction of each producer (key 61, v0)."""

    class ProducerState(Part):
        producer_id: Annotated[int, int64("0+")] = 0
        producer_epoch: Annotated[int, int32("0+")] = 0
        last_sequence: Annotated[int, int32("0+")] = -1
        last_timestamp: Annotated[int, int64("0+")] = -1
        coordinator_epoch: Annotated[int, int32("0+")] = 0
        current_txn_start_offset: Annotated[int, int64("0+")] = -1

    class PartitionResponse(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        active_producers: Annotated[list[DescribeProducersResponse.ProducerState], struct("0+")] = []

    class TopicResponse(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DescribeProducersResponse.PartitionResponse], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    topics: Annotated[list[DescribeProducersResponse.TopicResponse], struct("0+")] = []
