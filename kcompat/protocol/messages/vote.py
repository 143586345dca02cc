"""Vote: request and response (API key 52)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import (
    ZERO_UUID,
    Part,
    boolean,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
    uuid,
)


@message("0-2", flexible="0+", api_key=52)
class VoteRequest(Message):
    """Request of a KRaft candidate for a vote (key 52, v0 to v2)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        replica_epoch: Annotated[int, int32("0+")] = 0
        replica_id: Annotated[int, int32("0+")] = 0
        replica_directory_id: Annotated[bytes, uuid("1+", ignorable=True)] = ZERO_UUID
        voter_directory_id: Annotated[bytes, uuid("1+", ignorable=True)] = ZERO_UUID
        last_offset_epoch: Annotated[int, int32("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        pre_vote: Annotated[bool, boolean("2+")] = False

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[VoteRequest.PartitionData], struct("0+")] = []

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = None
    voter_id: Annotated[int, int32("1+", ignorable=True)] = -1
    topics: Annotated[list[VoteRequest.TopicData], struct("0+")] = []


@message("0-2", flexible="0+", api_key=52)
class VoteResponse(Message):
    """Response: whether the vote is granted, and the leader that each partition has (key 52, v0 to v2)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        vote_granted: Annotated[bool, boolean("0+")] = False

    class TopicData(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[VoteResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("1+")] = 0
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    topics: Annotated[list[VoteResponse.TopicData], struct("0+")] = []
    node_endpoints: Annotated[list[VoteResponse.NodeEndpoint], struct("1+", tag=0)] = []
