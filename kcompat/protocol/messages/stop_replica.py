"""StopReplica: request and response (API key 5)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, int64, string, struct


@message("0-4", flexible="2+", api_key=5)
class StopReplicaRequest(Message):
    """Request of the controller to a broker to stop or delete replicas (key 5, v0 to v4)."""

    class StopReplicaPartitionV0(Part):
        topic_name: Annotated[str, string("0")] = ""
        partition_index: Annotated[int, int32("0")] = 0

    class StopReplicaTopicV1(Part):
        name: Annotated[str, string("1-2")] = ""
        partition_indexes: Annotated[list[int], int32("1-2")] = []

    class StopReplicaPartitionState(Part):
        partition_index: Annotated[int, int32("3+")] = 0
        leader_epoch: Annotated[int, int32("3+")] = -1
        delete_partition: Annotated[bool, boolean("3+")] = False

    class StopReplicaTopicState(Part):
        topic_name: Annotated[str, string("3+")] = ""
        partition_states: Annotated[list[StopReplicaRequest.StopReplicaPartitionState], struct("3+")] = []

    controller_id: Annotated[int, int32("0+")] = 0
    is_kraft_controller: Annotated[bool, boolean("4+")] = False
    controller_epoch: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("1+", ignorable=True)] = -1
    delete_partitions: Annotated[bool, boolean("0-2")] = False
    ungrouped_partitions: Annotated[list[StopReplicaRequest.StopReplicaPartitionV0], struct("0")] = []
    topics: Annotated[list[StopReplicaRequest.StopReplicaTopicV1], struct("1-2")] = []
    topic_states: Annotated[list[StopReplicaRequest.StopReplicaTopicState], struct("3+")] = []


@message("0-4", flexible="2+", api_key=5)
class StopReplicaResponse(Message):
    """Response: an error code for each partition (key 5, v0 to v4)."""

    class StopReplicaPartitionError(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    partition_errors: Annotated[list[StopReplicaResponse.StopReplicaPartitionError], struct("0+")] = []
