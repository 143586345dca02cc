"""AlterPartitionReassignments: request and response (API key 45)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, string, struct


@message("0-1", flexible="0+", api_key=45)
class AlterPartitionReassignmentsRequest(Message):
    """Request to start or cancel the move of partitions to other brokers (key 45, v0 to v1)."""

    class ReassignablePartition(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        replicas: Annotated[list[int] | None, int32("0+", nullable="0+")] = None

    class ReassignableTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[AlterPartitionReassignmentsRequest.ReassignablePartition], struct("0+")
        ] = []

    timeout_ms: Annotated[int, int32("0+")] = 60000
    allow_replication_factor_change: Annotated[bool, boolean("1+")] = True
    topics: Annotated[list[AlterPartitionReassignmentsRequest.ReassignableTopic], struct("0+")] = []


@message("0-1", flexible="0+", api_key=45)
class AlterPartitionReassignmentsResponse(Message):
    """Response: an error code for each partition (key 45, v0 to v1)."""

    class ReassignablePartitionResponse(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""

    class ReassignableTopicResponse(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    allow_replication_factor_change: Annotated[bool, boolean("1+", ignorable=True)] = True
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    responses: Annotated[
        list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse], struct("0+")
    ] = []
