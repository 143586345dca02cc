"""LeaderAndIsr: request and response (API key 4)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int8, int16, int32, int64, string, struct, uuid


@message("0-7", flexible="4+", api_key=4)
class LeaderAndIsrRequest(Message):
    """Request of the controller to a broker to lead or follow partitions (key 4, v0 to v7)."""

    class LeaderAndIsrPartitionState(Part):
        topic_name: Annotated[str, string("0-1", ignorable=True)] = ""
        partition_index: Annotated[int, int32("0+")] = 0
        controller_epoch: Annotated[int, int32("0+")] = 0
        leader: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        isr: Annotated[list[int], int32("0+")] = []
        partition_epoch: Annotated[int, int32("0+")] = 0
        replicas: Annotated[list[int], int32("0+")] = []
        adding_replicas: Annotated[list[int], int32("3+", ignorable=True)] = []
        removing_replicas: Annotated[list[int], int32("3+", ignorable=True)] = []
        is_new: Annotated[bool, boolean("1+", ignorable=True)] = False
        leader_recovery_state: Annotated[int, int8("6+")] = 0

    class LeaderAndIsrTopicState(Part):
        topic_name: Annotated[str, string("2+")] = ""
        topic_id: Annotated[bytes, uuid("5+", ignorable=True)] = ZERO_UUID
        partition_states: Annotated[list[LeaderAndIsrRequest.LeaderAndIsrPartitionState], struct("2+")] = []

    class LeaderAndIsrLiveLeader(Part):
        broker_id: Annotated[int, int32("0+")] = 0
        host_name: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0

    controller_id: Annotated[int, int32("0+")] = 0
    is_kraft_controller: Annotated[bool, boolean("7+")] = False
    controller_epoch: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("2+", ignorable=True)] = -1
    type: Annotated[int, int8("5+")] = 0
    ungrouped_partition_states: Annotated[
        list[LeaderAndIsrRequest.LeaderAndIsrPartitionState], struct("0-1")
    ] = []
    topic_states: Annotated[list[LeaderAndIsrRequest.LeaderAndIsrTopicState], struct("2+")] = []
    live_leaders: Annotated[list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader], struct("0+")] = []


@message("0-7", flexible="4+", api_key=4)
class LeaderAndIsrResponse(Message):
    """Response: an error code for each partition (key 4, v0 to v7)."""

    class LeaderAndIsrPartitionError(Part):
        topic_name: Annotated[str, string("0-4", ignorable=True)] = ""
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class LeaderAndIsrTopicError(Part):
        topic_id: Annotated[bytes, uuid("5+")] = ZERO_UUID
        partition_errors: Annotated[list[LeaderAndIsrResponse.LeaderAndIsrPartitionError], struct("5+")] = []

    error_code: Annotated[int, int16("0+")] = 0
    partition_errors: Annotated[list[LeaderAndIsrResponse.LeaderAndIsrPartitionError], struct("0-4")] = []
    topics: Annotated[list[LeaderAndIsrResponse.LeaderAndIsrTopicError], struct("5+")] = []
