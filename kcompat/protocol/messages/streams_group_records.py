"""Records of streams groups in `__consumer_offsets` (KIP-1071)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, int64, string, struct, uint16


@message("0", record_type=17)
class StreamsGroupMetadataKey(Message):
    """The key of the streams group metadata record (record type 17)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=19)
class StreamsGroupMemberMetadataKey(Message):
    """The key of the streams group member metadata record (record type 19)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=20)
class StreamsGroupTargetAssignmentMetadataKey(Message):
    """The key of the streams group target assignment metadata record (record type 20)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=21)
class StreamsGroupTargetAssignmentMemberKey(Message):
    """The key of the streams group target assignment member record (record type 21)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=22)
class StreamsGroupCurrentMemberAssignmentKey(Message):
    """The key of the streams group current member assignment record (record type 22)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=23)
class StreamsGroupTopologyKey(Message):
    """The key of the streams group topology record (record type 23)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", flexible="0+", record_type=17)
class StreamsGroupMetadataValue(Message):
    """The streams group metadata record (record type 17, v0)."""

    class LastAssignmentConfig(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[str, string("0+")] = ""

    epoch: Annotated[int, int32("0+")] = 0
    metadata_hash: Annotated[int, int64("0+")] = 0
    validated_topology_epoch: Annotated[int, int32("0+", tag=0)] = -1
    last_assignment_configs: Annotated[
        list[StreamsGroupMetadataValue.LastAssignmentConfig] | None, struct("0+", nullable="0+", tag=1)
    ] = None
    stored_description_topology_epoch: Annotated[int, int32("0+", tag=2)] = -1
    failed_description_topology_epoch: Annotated[int, int32("0+", tag=3)] = -1


@message("0", flexible="0+", record_type=19)
class StreamsGroupMemberMetadataValue(Message):
    """The streams group member metadata record (record type 19, v0)."""

    class Endpoint(Part):
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class KeyValue(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[str, string("0+")] = ""

    instance_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    rack_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    client_id: Annotated[str, string("0+")] = ""
    client_host: Annotated[str, string("0+")] = ""
    rebalance_timeout_ms: Annotated[int, int32("0+")] = -1
    topology_epoch: Annotated[int, int32("0+")] = 0
    process_id: Annotated[str, string("0+")] = ""
    user_endpoint: Annotated[StreamsGroupMemberMetadataValue.Endpoint | None, struct("0+", nullable="0+")] = (
        None
    )
    client_tags: Annotated[list[StreamsGroupMemberMetadataValue.KeyValue], struct("0+")] = []


@message("0", flexible="0+", record_type=20)
class StreamsGroupTargetAssignmentMetadataValue(Message):
    """The streams group target assignment metadata record (record type 20, v0)."""

    assignment_epoch: Annotated[int, int32("0+")] = 0
    assignment_timestamp: Annotated[int, int64("0+", tag=0, ignorable=True)] = 0


@message("0", flexible="0+", record_type=21)
class StreamsGroupTargetAssignmentMemberValue(Message):
    """The streams group target assignment member record (record type 21, v0)."""

    class TaskIds(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    active_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValue.TaskIds], struct("0+")] = []
    standby_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValue.TaskIds], struct("0+")] = []
    warmup_tasks: Annotated[list[StreamsGroupTargetAssignmentMemberValue.TaskIds], struct("0+")] = []


@message("0", flexible="0+", record_type=22)
class StreamsGroupCurrentMemberAssignmentValue(Message):
    """The streams group current member assignment record (record type 22, v0)."""

    class TaskIds(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []
        assignment_epochs: Annotated[list[int] | None, int32("0+", nullable="0+", tag=0)] = None

    member_epoch: Annotated[int, int32("0+")] = 0
    previous_member_epoch: Annotated[int, int32("0+")] = 0
    state: Annotated[int, int8("0+")] = 0
    active_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")] = []
    standby_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")] = []
    warmup_tasks: Annotated[list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")] = []
    active_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")
    ] = []
    standby_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")
    ] = []
    warmup_tasks_pending_revocation: Annotated[
        list[StreamsGroupCurrentMemberAssignmentValue.TaskIds], struct("0+")
    ] = []


@message("0", flexible="0+", record_type=23)
class StreamsGroupTopologyValue(Message):
    """The streams group topology record (record type 23, v0)."""

    class TopicConfig(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[str, string("0+")] = ""

    class TopicInfo(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[int, int32("0+")] = 0
        replication_factor: Annotated[int, int16("0+")] = 0
        topic_configs: Annotated[list[StreamsGroupTopologyValue.TopicConfig], struct("0+")] = []

    class CopartitionGroup(Part):
        source_topics: Annotated[list[int], int16("0+")] = []
        source_topic_regex: Annotated[list[int], int16("0+")] = []
        repartition_source_topics: Annotated[list[int], int16("0+")] = []

    class Subtopology(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        source_topics: Annotated[list[str], string("0+")] = []
        source_topic_regex: Annotated[list[str], string("0+")] = []
        state_changelog_topics: Annotated[list[StreamsGroupTopologyValue.TopicInfo], struct("0+")] = []
        repartition_sink_topics: Annotated[list[str], string("0+")] = []
        repartition_source_topics: Annotated[list[StreamsGroupTopologyValue.TopicInfo], struct("0+")] = []
        copartition_groups: Annotated[list[StreamsGroupTopologyValue.CopartitionGroup], struct("0+")] = []

    epoch: Annotated[int, int32("0+")] = 0
    subtopologies: Annotated[list[StreamsGroupTopologyValue.Subtopology], struct("0+")] = []
