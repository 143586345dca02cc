"""ElectLeaders: request and response (API key 43)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0-2", flexible="2+", api_key=43)
class ElectLeadersRequest(Message):
    """Request for elections of partition leaders, preferred or unclean (key 43, v0 to v2)."""

    class TopicPartitions(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    election_type: Annotated[int, int8("1+")] = 0
    topic_partitions: Annotated[
        list[ElectLeadersRequest.TopicPartitions] | None, struct("0+", nullable="0+")
    ] = []
    timeout_ms: Annotated[int, int32("0+")] = 60000


@message("0-2", flexible="2+", api_key=43)
class ElectLeadersResponse(Message):
    """Response: an error code for each partition (key 43, v0 to v2)."""

    class PartitionResult(Part):
        partition_id: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""

    class ReplicaElectionResult(Part):
        topic: Annotated[str, string("0+")] = ""
        partition_result: Annotated[list[ElectLeadersResponse.PartitionResult], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("1+")] = 0
    replica_election_results: Annotated[list[ElectLeadersResponse.ReplicaElectionResult], struct("0+")] = []
