"""DescribeQuorum: request and response (API key 55)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uint16, uuid


@message("0-2", flexible="0+", api_key=55)
class DescribeQuorumRequest(Message):
    """Request for the state of the KRaft quorum (key 55, v0 to v2)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DescribeQuorumRequest.PartitionData], struct("0+")] = []

    topics: Annotated[list[DescribeQuorumRequest.TopicData], struct("0+")] = []


@message("0-2", flexible="0+", api_key=55)
class DescribeQuorumResponse(Message):
    """Response: leader, voters and observers of the quorum (key 55, v0 to v2)."""

    class ReplicaState(Part):
        replica_id: Annotated[int, int32("0+")] = 0
        replica_directory_id: Annotated[bytes, uuid("2+")] = ZERO_UUID
        log_end_offset: Annotated[int, int64("0+")] = 0
        last_fetch_timestamp: Annotated[int, int64("1+", ignorable=True)] = -1
        last_caught_up_timestamp: Annotated[int, int64("1+", ignorable=True)] = -1

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("2+", nullable="2+", ignorable=True)] = ""
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        high_watermark: Annotated[int, int64("0+")] = 0
        current_voters: Annotated[list[DescribeQuorumResponse.ReplicaState], struct("0+")] = []
        observers: Annotated[list[DescribeQuorumResponse.ReplicaState], struct("0+")] = []

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[DescribeQuorumResponse.PartitionData], struct("0+")] = []

    class Listener(Part):
        name: Annotated[str, string("2+")] = ""
        host: Annotated[str, string("2+")] = ""
        port: Annotated[int, uint16("2+")] = 0

    class Node(Part):
        node_id: Annotated[int, int32("2+")] = 0
        listeners: Annotated[list[DescribeQuorumResponse.Listener], struct("2+")] = []

    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("2+", nullable="2+", ignorable=True)] = ""
    topics: Annotated[list[DescribeQuorumResponse.TopicData], struct("0+")] = []
    nodes: Annotated[list[DescribeQuorumResponse.Node], struct("2+")] = []
