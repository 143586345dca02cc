"""AlterPartition: request and response (API key 56)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int8, int16, int32, int64, string, struct, uuid


@message("0-3", flexible="0+", api_key=56)
class AlterPartitionRequest(Message):
    """Request of a leader to the controller to change the ISR (key 56, v0 to v3)."""

    class BrokerState(Part):
        broker_id: Annotated[int, int32("3+")] = 0
        broker_epoch: Annotated[int, int64("3+")] = -1

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        new_isr: Annotated[list[int], int32("0-2")] = []
        new_isr_with_epochs: Annotated[list[AlterPartitionRequest.BrokerState], struct("3+")] = []
        leader_recovery_state: Annotated[int, int8("1+")] = 0
        partition_epoch: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0-1", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("2+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[AlterPartitionRequest.PartitionData], struct("0+")] = []

    broker_id: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("0+")] = -1
    topics: Annotated[list[AlterPartitionRequest.TopicData], struct("0+")] = []


@message("0-3", flexible="0+", api_key=56)
class AlterPartitionResponse(Message):
    """Response: leader, ISR and epochs of each partition after the change (key 56, v0 to v3)."""

    class PartitionData(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        isr: Annotated[list[int], int32("0+")] = []
        leader_recovery_state: Annotated[int, int8("1+", ignorable=True)] = 0
        partition_epoch: Annotated[int, int32("0+")] = 0

    class TopicData(Part):
        topic_name: Annotated[str, string("0-1", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("2+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[AlterPartitionResponse.PartitionData], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    topics: Annotated[list[AlterPartitionResponse.TopicData], struct("0+")] = []
