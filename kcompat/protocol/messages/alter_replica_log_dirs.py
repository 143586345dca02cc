"""AlterReplicaLogDirs: request and response (API key 34)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, string, struct


@message("0-2", flexible="2+", api_key=34)
class AlterReplicaLogDirsRequest(Message):
    """Request to move replicas between the log directories of a broker (key 34, v0 to v2)."""

    class AlterReplicaLogDirTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class AlterReplicaLogDir(Part):
        path: Annotated[str, string("0+")] = ""
        topics: Annotated[list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic], struct("0+")] = []

    dirs: Annotated[list[AlterReplicaLogDirsRequest.AlterReplicaLogDir], struct("0+")] = []


@message("0-2", flexible="2+", api_key=34)
class AlterReplicaLogDirsResponse(Message):
    """Response: an error code for each partition (key 34, v0 to v2)."""

    class AlterReplicaLogDirPartitionResult(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class AlterReplicaLogDirTopicResult(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult], struct("0+")] = []
