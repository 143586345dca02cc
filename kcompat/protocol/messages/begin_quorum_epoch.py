"""BeginQuorumEpoch: request and response (API key 53)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uint16, uuid


@message("0-1", flexible="1+", api_key=53)
class BeginQuorumEpochRequest(Message):
    """Request of a new KRaft leader that announces its epoch to a voter (key 53, v0 to v1)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        voter_directory_id: Annotated[bytes, uuid("1+", ignorable=True)] = ZERO_UUID
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[BeginQuorumEpochRequest.PartitionData], struct("0+")] = []

    class LeaderEndpoint(Part):
        name: Annotated[str, string("1+")] = ""
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = None
    voter_id: Annotated[int, int32("1+", ignorable=True)] = -1
    topics: Annotated[list[BeginQuorumEpochRequest.TopicData], struct("0+")] = []
    leader_endpoints: Annotated[
        list[BeginQuorumEpochRequest.LeaderEndpoint], struct("1+", ignorable=True)
    ] = []


@message("0-1", flexible="1+", api_key=53)
class BeginQuorumEpochResponse(Message):
    """Response: an error code, and the leader that each partition has (key 53, v0 to v1)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[BeginQuorumEpochResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("1+")] = 0
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    topics: Annotated[list[BeginQuorumEpochResponse.TopicData], struct("0+")] = []
    node_endpoints: Annotated[list[BeginQuorumEpochResponse.NodeEndpoint], struct("1+", tag=0)] = []
