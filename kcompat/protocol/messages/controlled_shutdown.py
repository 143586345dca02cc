"""ControlledShutdown: request and response (API key 7)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0-3", flexible="3+", api_key=7)
class ControlledShutdownRequest(Message):
    """Request of a broker to the controller to move leadership to other brokers (key 7, v0 to v3)."""

    broker_id: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("2+", ignorable=True)] = -1


@message("0-3", flexible="3+", api_key=7)
class ControlledShutdownResponse(Message):
    """Response: partitions whose leader is still the broker that shuts down (key 7, v0 to v3)."""

    class RemainingPartition(Part):
        topic_name: Annotated[str, string("0+")] = ""
        partition_index: Annotated[int, int32("0+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    remaining_partitions: Annotated[list[ControlledShutdownResponse.RemainingPartition], struct("0+")] = []
