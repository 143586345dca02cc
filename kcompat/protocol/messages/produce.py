"""Produce: request and response (API key 0)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, record_bytes, string, struct, uuid


@message("0-13", flexible="9+", api_key=0)
class ProduceRequest(Message):
    """Request to append record batches to partitions (key 0, v0 to v13)."""

    class PartitionProduceData(Part):
        index: Annotated[int, int32("0+")] = 0
        records: Annotated[memoryview | bytes | None, record_bytes("0+", nullable="0+")] = None

    class TopicProduceData(Part):
        name: Annotated[str, string("0-12", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("13+", ignorable=True)] = ZERO_UUID
        partition_data: Annotated[list[ProduceRequest.PartitionProduceData], struct("0+")] = []

    transactional_id: Annotated[str | None, string("3+", nullable="3+")] = None
    acks: Annotated[int, int16("0+")] = 0
    timeout_ms: Annotated[int, int32("0+")] = 0
    topic_data: Annotated[list[ProduceRequest.TopicProduceData], struct("0+")] = []


@message("0-13", flexible="9+", api_key=0)
class ProduceResponse(Message):
    """Response: base offset or error code for each partition (key 0, v0 to v13)."""

    class BatchIndexAndErrorMessage(Part):
        batch_index: Annotated[int, int32("8+")] = 0
        batch_index_error_message: Annotated[str | None, string("8+", nullable="8+")] = None

    class PartitionProduceResponse(Part):
        class LeaderIdAndEpoch(Struct, frozen=True, gc=False):
            leader_id: Annotated[int, int32("10+")] = -1
            leader_epoch: Annotated[int, int32("10+")] = -1

        index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        base_offset: Annotated[int, int64("0+")] = 0
        log_append_time_ms: Annotated[int, int64("2+", ignorable=True)] = -1
        log_start_offset: Annotated[int, int64("5+", ignorable=True)] = -1
        record_errors: Annotated[
            list[ProduceResponse.BatchIndexAndErrorMessage], struct("8+", ignorable=True)
        ] = []
        error_message: Annotated[str | None, string("8+", nullable="8+", ignorable=True)] = None
        current_leader: Annotated[LeaderIdAndEpoch, struct("10+", tag=0)] = LeaderIdAndEpoch()

    LeaderIdAndEpoch = PartitionProduceResponse.LeaderIdAndEpoch

    class TopicProduceResponse(Part):
        name: Annotated[str, string("0-12", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("13+", ignorable=True)] = ZERO_UUID
        partition_responses: Annotated[list[ProduceResponse.PartitionProduceResponse], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("10+")] = 0
        host: Annotated[str, string("10+")] = ""
        port: Annotated[int, int32("10+")] = 0
        rack: Annotated[str | None, string("10+", nullable="10+")] = None

    responses: Annotated[list[ProduceResponse.TopicProduceResponse], struct("0+")] = []
    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    node_endpoints: Annotated[list[ProduceResponse.NodeEndpoint], struct("10+", tag=0)] = []
