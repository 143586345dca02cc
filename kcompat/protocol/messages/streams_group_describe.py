"""StreamsGroupDescribe: request and response (API key 89)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, int64, string, struct, uint16


@message("0-1", flexible="0+", api_key=89)
class StreamsGroupDescribeRequest(Message):
    """Request for the state, topology and members of streams groups (key 89, v0 to v1)."""

    group_ids: Annotated[list[str], string("0+")] = []
    include_authorized_operations: Annotated[bool, boolean("0+")] = False
    include_topology_description: Annotated[bool, boolean("1+")] = False


@message("0-1", flexible="0+", api_key=89)
class StreamsGroupDescribeResponse(Message):
    """Response: state, topology and members of each group (key 89, v0 to v1)."""

    class KeyValue(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[str, string("0+")] = ""

    class TopicInfo(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[int, int32("0+")] = 0
        replication_factor: Annotated[int, int16("0+")] = 0
        topic_configs: Annotated[list[StreamsGroupDescribeResponse.KeyValue], struct("0+")] = []

    class Subtopology(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        source_topics: Annotated[list[str], string("0+")] = []
        repartition_sink_topics: Annotated[list[str], string("0+")] = []
        state_changelog_topics: Annotated[list[StreamsGroupDescribeResponse.TopicInfo], struct("0+")] = []
        repartition_source_topics: Annotated[list[StreamsGroupDescribeResponse.TopicInfo], struct("0+")] = []

    class Topology(Part):
        epoch: Annotated[int, int32("0+")] = 0
        subtopologies: Annotated[
            list[StreamsGroupDescribeResponse.Subtopology] | None, struct("0+", nullable="0+")
        ] = None

    class Endpoint(Part):
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class TaskOffset(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partition: Annotated[int, int32("0+")] = 0
        offset: Annotated[int, int64("0+")] = 0

    class TaskIds(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class Assignment(Part):
        active_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], struct("0+")] = []
        standby_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], struct("0+")] = []
        warmup_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], struct("0+")] = []

    class Member(Part):
        member_id: Annotated[str, string("0+")] = ""
        member_epoch: Annotated[int, int32("0+")] = 0
        instance_id: Annotated[str | None, string("0+", nullable="0+")] = None
        rack_id: Annotated[str | None, string("0+", nullable="0+")] = None
        client_id: Annotated[str, string("0+")] = ""
        client_host: Annotated[str, string("0+")] = ""
        topology_epoch: Annotated[int, int32("0+")] = 0
        process_id: Annotated[str, string("0+")] = ""
        user_endpoint: Annotated[
            StreamsGroupDescribeResponse.Endpoint | None, struct("0+", nullable="0+")
        ] = None
        client_tags: Annotated[list[StreamsGroupDescribeResponse.KeyValue], struct("0+")] = []
        task_offsets: Annotated[list[StreamsGroupDescribeResponse.TaskOffset], struct("0+")] = []
        task_end_offsets: Annotated[list[StreamsGroupDescribeResponse.TaskOffset], struct("0+")] = []
        assignment: Annotated[StreamsGroupDescribeResponse.Assignment, struct("0+")] = field(
            default_factory=lambda: StreamsGroupDescribeResponse.Assignment()
        )
        target_assignment: Annotated[StreamsGroupDescribeResponse.Assignment, struct("0+")] = field(
            default_factory=lambda: StreamsGroupDescribeResponse.Assignment()
        )
        is_classic: Annotated[bool, boolean("0+")] = False

    class TopologyDescriptionNode(Part):
        name: Annotated[str, string("1+")] = ""
        node_type: Annotated[int, int8("1+")] = 0
        source_topics: Annotated[list[str], string("1+")] = []
        sink_topic: Annotated[str | None, string("1+", nullable="1+")] = None
        stores: Annotated[list[str], string("1+")] = []
        successors: Annotated[list[str], string("1+")] = []

    class TopologyDescriptionSubtopology(Part):
        subtopology_id: Annotated[str, string("1+")] = ""
        nodes: Annotated[list[StreamsGroupDescribeResponse.TopologyDescriptionNode], struct("1+")] = []

    class TopologyDescriptionGlobalStore(Part):
        source: Annotated[StreamsGroupDescribeResponse.TopologyDescriptionNode, struct("1+")] = field(
            default_factory=lambda: StreamsGroupDescribeResponse.TopologyDescriptionNode()
        )
        processor: Annotated[StreamsGroupDescribeResponse.TopologyDescriptionNode, struct("1+")] = field(
            default_factory=lambda: StreamsGroupDescribeResponse.TopologyDescriptionNode()
        )

    class TopologyDescription(Part):
        subtopologies: Annotated[
            list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology], struct("1+")
        ] = []
        global_stores: Annotated[
            list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore], struct("1+")
        ] = []

    class DescribedGroup(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        group_id: Annotated[str, string("0+")] = ""
        group_state: Annotated[str, string("0+")] = ""
        group_epoch: Annotated[int, int32("0+")] = 0
        assignment_epoch: Annotated[int, int32("0+")] = 0
        topology: Annotated[StreamsGroupDescribeResponse.Topology | None, struct("0+", nullable="0+")] = None
        members: Annotated[list[StreamsGroupDescribeResponse.Member], struct("0+")] = []
        authorized_operations: Annotated[int, int32("0+")] = -0x80000000
        topology_description: Annotated[
            StreamsGroupDescribeResponse.TopologyDescription | None, struct("1+", nullable="1+")
        ] = None
        topology_description_status: Annotated[int, int8("1+")] = 0
        assignor_name: Annotated[str | None, string("1+", nullable="1+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    groups: Annotated[list[StreamsGroupDescribeResponse.DescribedGroup], struct("0+")] = []
