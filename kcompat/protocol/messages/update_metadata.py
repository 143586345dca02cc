"""UpdateMetadata: request and response (API key 6)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int8, int16, int32, int64, string, struct, uuid


@message("0-8", flexible="6+", api_key=6)
class UpdateMetadataRequest(Message):
    """Request of the controller that updates a broker's metadata image (key 6, v0 to v8)."""

    class UpdateMetadataPartitionState(Part):
        topic_name: Annotated[str, string("0-4", ignorable=True)] = ""
        partition_index: Annotated[int, int32("0+")] = 0
        controller_epoch: Annotated[int, int32("0+")] = 0
        leader: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("0+")] = 0
        isr: Annotated[list[int], int32("0+")] = []
        zk_version: Annotated[int, int32("0+")] = 0
        replicas: Annotated[list[int], int32("0+")] = []
        offline_replicas: Annotated[list[int], int32("4+", ignorable=True)] = []

    class UpdateMetadataTopicState(Part):
        topic_name: Annotated[str, string("5+")] = ""
        topic_id: Annotated[bytes, uuid("7+", ignorable=True)] = ZERO_UUID
        partition_states: Annotated[
            list[UpdateMetadataRequest.UpdateMetadataPartitionState], struct("5+")
        ] = []

    class UpdateMetadataEndpoint(Part):
        port: Annotated[int, int32("1+")] = 0
        host: Annotated[str, string("1+")] = ""
        listener: Annotated[str, string("3+", ignorable=True)] = ""
        security_protocol: Annotated[int, int16("1+")] = 0

    class UpdateMetadataBroker(Part):
        id: Annotated[int, int32("0+")] = 0
        v0_host: Annotated[str, string("0", ignorable=True)] = ""
        v0_port: Annotated[int, int32("0", ignorable=True)] = 0
        endpoints: Annotated[
            list[UpdateMetadataRequest.UpdateMetadataEndpoint], struct("1+", ignorable=True)
        ] = []
        rack: Annotated[str | None, string("2+", nullable="2+", ignorable=True)] = ""

    controller_id: Annotated[int, int32("0+")] = 0
    is_kraft_controller: Annotated[bool, boolean("8+")] = False
    type: Annotated[int, int8("8+", tag=0)] = 0
    controller_epoch: Annotated[int, int32("0+")] = 0
    broker_epoch: Annotated[int, int64("5+", ignorable=True)] = -1
    ungrouped_partition_states: Annotated[
        list[UpdateMetadataRequest.UpdateMetadataPartitionState], struct("0-4")
    ] = []
    topic_states: Annotated[list[UpdateMetadataRequest.UpdateMetadataTopicState], struct("5+")] = []
    live_brokers: Annotated[list[UpdateMetadataRequest.UpdateMetadataBroker], struct("0+")] = []
    presumed_dead: Annotated[list[int], int32("6+", tag=10_000, ignorable=True)] = []
    """Ids among `live_brokers` whose processes have ended: a field of kcompat, which Kafka passes over."""


@message("0-8", flexible="6+", api_key=6)
class UpdateMetadataResponse(Message):
    """Response: an error code (key 6, v0 to v8)."""

    error_code: Annotated[int, int16("0+")] = 0
