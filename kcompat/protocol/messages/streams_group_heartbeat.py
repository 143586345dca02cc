"""StreamsGroupHeartbeat: request and response (API key 88)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, int64, string, struct, uint16


@message("0-1", flexible="0+", api_key=88)
class StreamsGroupHeartbeatRequest(Message):
    """Request of a streams group's member: its topology and owned tasks (KIP-1071) (key 88, v0 to v1)."""

    class KeyValue(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[str, string("0+")] = ""

    class TopicInfo(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[int, int32("0+")] = 0
        replication_factor: Annotated[int, int16("0+")] = 0
        topic_configs: Annotated[list[StreamsGroupHeartbeatRequest.KeyValue], struct("0+")] = []

    class CopartitionGroup(Part):
        source_topics: Annotated[list[int], int16("0+")] = []
        source_topic_regex: Annotated[list[int], int16("0+")] = []
        repartition_source_topics: Annotated[list[int], int16("0+")] = []

    class Subtopology(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        source_topics: Annotated[list[str], string("0+")] = []
        source_topic_regex: Annotated[list[str], string("0+")] = []
        state_changelog_topics: Annotated[list[StreamsGroupHeartbeatRequest.TopicInfo], struct("0+")] = []
        repartition_sink_topics: Annotated[list[str], string("0+")] = []
        repartition_source_topics: Annotated[list[StreamsGroupHeartbeatRequest.TopicInfo], struct("0+")] = []
        copartition_groups: Annotated[list[StreamsGroupHeartbeatRequest.CopartitionGroup], struct("0+")] = []

    class Topology(Part):
        epoch: Annotated[int, int32("0+")] = 0
        subtopologies: Annotated[list[StreamsGroupHeartbeatRequest.Subtopology], struct("0+")] = []

    class TaskIds(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class Endpoint(Part):
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class TaskOffset(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partition: Annotated[int, int32("0+")] = 0
        offset: Annotated[int, int64("0+")] = 0

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""
    member_epoch: Annotated[int, int32("0+")] = 0
    endpoint_information_epoch: Annotated[int, int32("0+")] = 0
    instance_id: Annotated[str | None, string("0+", nullable="0+")] = None
    rack_id: Annotated[str | None, string("0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, int32("0+")] = -1
    topology: Annotated[StreamsGroupHeartbeatRequest.Topology | None, struct("0+", nullable="0+")] = None
    active_tasks: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    process_id: Annotated[str | None, string("0+", nullable="0+")] = None
    user_endpoint: Annotated[StreamsGroupHeartbeatRequest.Endpoint | None, struct("0+", nullable="0+")] = None
    client_tags: Annotated[
        list[StreamsGroupHeartbeatRequest.KeyValue] | None, struct("0+", nullable="0+")
    ] = None
    task_offsets: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskOffset] | None, struct("0+", nullable="0+")
    ] = None
    task_end_offsets: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskOffset] | None, struct("0+", nullable="0+")
    ] = None
    shutdown_application: Annotated[bool, boolean("0+")] = False


@message("0-1", flexible="0+", api_key=88)
class StreamsGroupHeartbeatResponse(Message):
    """Response: epoch and tasks of the member (key 88, v0 to v1)."""

    class Status(Part):
        status_code: Annotated[int, int8("0+")] = 0
        status_detail: Annotated[str, string("0+")] = ""

    class TaskIds(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class Endpoint(Part):
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class TopicPartition(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class EndpointToPartitions(Part):
        user_endpoint: Annotated[StreamsGroupHeartbeatResponse.Endpoint, struct("0+")] = field(
            default_factory=lambda: StreamsGroupHeartbeatResponse.Endpoint()
        )
        active_partitions: Annotated[list[StreamsGroupHeartbeatResponse.TopicPartition], struct("0+")] = []
        standby_partitions: Annotated[list[StreamsGroupHeartbeatResponse.TopicPartition], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
    member_id: Annotated[str, string("0+")] = ""
    member_epoch: Annotated[int, int32("0+")] = 0
    heartbeat_interval_ms: Annotated[int, int32("0+")] = 0
    acceptable_recovery_lag_legacy: Annotated[int, int32("0")] = 0
    task_offset_interval_ms: Annotated[int, int32("0+")] = 0
    acceptable_recovery_lag: Annotated[int, int64("1+", ignorable=True)] = -1
    status: Annotated[list[StreamsGroupHeartbeatResponse.Status] | None, struct("0+", nullable="0+")] = []
    active_tasks: Annotated[
        list[StreamsGroupHeartbeatResponse.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        list[StreamsGroupHeartbeatResponse.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        list[StreamsGroupHeartbeatResponse.TaskIds] | None, struct("0+", nullable="0+")
    ] = None
    topology_description_required: Annotated[bool, boolean("1+")] = False
    endpoint_information_epoch: Annotated[int, int32("0+")] = 0
    partitions_by_user_endpoint: Annotated[
        list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None, struct("0+", nullable="0+")
    ] = None
