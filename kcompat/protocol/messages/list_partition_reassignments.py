"""ListPartitionReassignments: request and response (API key 46)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0", flexible="0+", api_key=46)
class ListPartitionReassignmentsRequest(Message):
    """Request for the partitions that are being reassigned (key 46, v0)."""

    class ListPartitionReassignmentsTopics(Part):
        name: Annotated[str, string("0+")] = ""
        partition_indexes: Annotated[list[int], int32("0+")] = []

    timeout_ms: Annotated[int, int32("0+")] = 60000
    topics: Annotated[
        list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None,
        struct("0+", nullable="0+"),
    ] = None


@message("0", flexible="0+", api_key=46)
class ListPartitionReassignmentsResponse(Message):
    """Response: current, added and removed replicas of each partition (key 46, v0)."""

    class OngoingPartitionReassignment(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        replicas: Annotated[list[int], int32("0+")] = []
        adding_replicas: Annotated[list[int], int32("0+")] = []
        removing_replicas: Annotated[list[int], int32("0+")] = []

    class OngoingTopicReassignment(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    topics: Annotated[list[ListPartitionReassignmentsResponse.OngoingTopicReassignment], struct("0+")] = []
