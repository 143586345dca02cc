"""EndQuorumEpoch: request and response (API key 54)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uint16, uuid


@message("0-1", flexible="1+", api_key=54)
class EndQuorumEpochRequest(Message):
    """Request of a KRaft leader that informs a voter of its resignation (key 54, v0 to v1)."""

    class ReplicaInfo(Part):
        candidate_id: Annotated[int, int32("1+")] = 0
        candidate_directory_id: Annotated[bytes, uuid("1+")] = ZERO_UUID

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        preferred_successors: Annotated[list[int], int32("0", ignorable=True)] = []
        preferred_candidates: Annotated[
            list[EndQuorumEpochRequest.ReplicaInfo], struct("1+", ignorable=True)
        ] = []

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[EndQuorumEpochRequest.PartitionData], struct("0+")] = []

    class LeaderEndpoint(Part):
        name: Annotated[str, string("1+")] = ""
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = None
    topics: Annotated[list[EndQuorumEpochRequest.TopicData], struct("0+")] = []
    leader_endpoints: Annotated[list[EndQuorumEpochRequest.LeaderEndpoint], struct("1+", ignorable=True)] = []


@message("0-1", flexible="1+", api_key=54)
class EndQuorumEpochResponse(Message):
    """Response: an error code, and the leader that each partition has (key 54, v0 to v1)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[EndQuorumEpochResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("1+")] = 0
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    topics: Annotated[list[EndQuorumEpochResponse.TopicData], struct("0+")] = []
    node_endpoints: Annotated[list[EndQuorumEpochResponse.NodeEndpoint], struct("1+", tag=0)] = []
