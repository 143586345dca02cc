"""AssignReplicasToDirs: request and response (API key 73)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, struct, uuid


@message("0", flexible="0+", api_key=73)
class AssignReplicasToDirsRequest(Message):
    """Request of a broker to the controller: the log directory of each replica (key 73, v0)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[AssignReplicasToDirsRequest.PartitionData], struct("0+")] = []

    class DirectoryData(Part):
        id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topics: Annotated[list[AssignReplicasToDirsRequest.TopicData], struct("0+")] = []

    broker_id: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("0+")] = -1
    directories: Annotated[list[AssignReplicasToDirsRequest.DirectoryData], struct("0+")] = []


@message("0", flexible="0+", api_key=73)
class AssignReplicasToDirsResponse(Message):
    """Response: an error code for each partition (key 73, v0)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class TopicData(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[AssignReplicasToDirsResponse.PartitionData], struct("0+")] = []

    class DirectoryData(Part):
        id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topics: Annotated[list[AssignReplicasToDirsResponse.TopicData], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    directories: Annotated[list[AssignReplicasToDirsResponse.DirectoryData], struct("0+")] = []
