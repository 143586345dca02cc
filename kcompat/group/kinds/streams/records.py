"""What is written of streams groups in `__consumer_offsets`, and read back: the records of Kafka 4.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.streams.member import Endpoint, MemberState
from kcompat.group.kinds.streams.roster import Basis
from kcompat.group.kinds.streams.tasks import HeldTasks, Tasks, task_sets
from kcompat.group.kinds.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from kcompat.group.modern.topics import java_order
from kcompat.protocol.messages.streams_group_records import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.streams.member import StreamsMember
    from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

_CurrentRow = StreamsGroupCurrentMemberAssignmentValue.TaskIds
_TargetRow = StreamsGroupTargetAssignmentMemberValue.TaskIds
_Member = StreamsGroupMemberMetadataValue
_Topology = StreamsGroupTopologyValue


# --- members


def write_member(turn: GroupTurn, group_id: str, member: StreamsMember) -> None:
    """What a member is and wants."""
    endpoint, tags = member.endpoint, member.client_tags
    turn.write(
        StreamsGroupMemberMetadataKey(group_id, member.member_id),
        _Member(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None if endpoint is None else _Member.Endpoint(*endpoint),
            client_tags=[_Member.KeyValue(key, tags[key]) for key in sorted(tags, key=java_order)],
        ),
    )


def with_metadata(member: StreamsMember, value: StreamsGroupMemberMetadataValue) -> StreamsMember:
    """The member with what the record says it is."""
    endpoint = value.user_endpoint
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags={row.key: row.value for row in value.client_tags},
    )


def write_current(turn: GroupTurn, group_id: str, member: StreamsMember) -> None:
    """What a member has."""
    assigned, revoking = member.assigned, member.revoking
    turn.write(
        StreamsGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            active_tasks=_active_rows(assigned.active),
            standby_tasks=_rows(assigned.standby),
            warmup_tasks=_rows(assigned.warmup),
            active_tasks_pending_revocation=_active_rows(revoking.active),
            standby_tasks_pending_revocation=_rows(revoking.standby),
            warmup_tasks_pending_revocation=_rows(revoking.warmup),
        ),
    )


def _active_rows(tasks: Mapping[str, Mapping[int, int]]) -> list[_CurrentRow]:
    rows = []
    for subtopology in sorted(tasks, key=java_order):
        epochs = tasks[subtopology]
        numbers = sorted(epochs)
        rows.append(_CurrentRow(subtopology, numbers, [epochs[number] for number in numbers]))
    return rows


def _rows(tasks: Mapping[str, frozenset[int]]) -> list[_CurrentRow]:
    return [_CurrentRow(each, sorted(tasks[each])) for each in sorted(tasks, key=java_order)]


def with_current(member: StreamsMember, value: StreamsGroupCurrentMemberAssignmentValue) -> StreamsMember:
    """The member with what the record says it has."""
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=HeldTasks(
            _epochs(value.active_tasks, value.member_epoch),
            _sets(value.standby_tasks),
            _sets(value.warmup_tasks),
        ),
        revoking=HeldTasks(
            _epochs(value.active_tasks_pending_revocation, value.member_epoch),
            _sets(value.standby_tasks_pending_revocation),
            _sets(value.warmup_tasks_pending_revocation),
        ),
    )


def _epochs(rows: Iterable[_CurrentRow], member_epoch: int) -> dict[str, dict[int, int]]:
    """Tasks with the epochs in which they were got. Kafka before 4.3 wrote none: then it is the member's."""
    found = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [member_epoch] * len(row.partitions)
        if row.partitions:
            found[row.subtopology_id] = dict(zip(row.partitions, epochs, strict=True))
    return found


def _sets(rows: Iterable[_CurrentRow | _TargetRow]) -> dict[str, frozenset[int]]:
    return task_sets((row.subtopology_id, row.partitions) for row in rows)


def bury_member(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """The tombstones of a member: what it has, what it is to have, what it is."""
    turn.write(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), None)
    turn.write(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), None)
    turn.write(StreamsGroupMemberMetadataKey(group_id, member_id), None)


# --- the group


def write_epoch(turn: GroupTurn, group_id: str, epoch: int, metadata_hash: int, basis: Basis) -> None:
    """The group epoch, and what it stands for."""
    row = StreamsGroupMetadataValue.LastAssignmentConfig
    turn.write(
        StreamsGroupMetadataKey(group_id),
        StreamsGroupMetadataValue(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=basis.validated_epoch,
            last_assignment_configs=[row(*each) for each in sorted(basis.assignment_configs.items())],
        ),
    )


def basis_of(value: StreamsGroupMetadataValue) -> Basis:
    """What the group epoch stands for, as the record says."""
    rows = value.last_assignment_configs or ()
    return Basis(value.validated_topology_epoch, {row.key: row.value for row in rows})


def write_target(turn: GroupTurn, group_id: str, member_id: str, target: Tasks) -> None:
    """What a member is to have."""
    turn.write(
        StreamsGroupTargetAssignmentMemberKey(group_id, member_id),
        StreamsGroupTargetAssignmentMemberValue(
            _target_rows(target.active), _target_rows(target.standby), _target_rows(target.warmup)
        ),
    )


def _target_rows(tasks: Mapping[str, frozenset[int]]) -> list[_TargetRow]:
    return [_TargetRow(each, sorted(tasks[each])) for each in sorted(tasks, key=java_order)]


def target_of(value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    """What the record says a member is to have."""
    return Tasks(_sets(value.active_tasks), _sets(value.standby_tasks), _sets(value.warmup_tasks))


def write_target_epoch(turn: GroupTurn, group_id: str, epoch: int, timestamp_ms: int) -> None:
    """The group epoch that the targets are for, and when they were made."""
    turn.write(
        StreamsGroupTargetAssignmentMetadataKey(group_id),
        StreamsGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def bury_group(turn: GroupTurn, group_id: str, member_ids: Iterable[str]) -> None:
    """The tombstones of a whole group."""
    for member_id in member_ids:
        bury_member(turn, group_id, member_id)
    turn.write(StreamsGroupTargetAssignmentMetadataKey(group_id), None)
    turn.write(StreamsGroupMetadataKey(group_id), None)
    turn.write(StreamsGroupTopologyKey(group_id), None)


# --- the topology


def write_topology(turn: GroupTurn, group_id: str, topology: Topology) -> None:
    """What the application is made of."""
    turn.write(
        StreamsGroupTopologyKey(group_id),
        _Topology(topology.epoch, [_subtopology_row(each) for each in topology.subtopologies.values()]),
    )


def _subtopology_row(subtopology: Subtopology) -> StreamsGroupTopologyValue.Subtopology:
    return _Topology.Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=list(subtopology.source_topics),
        source_topic_regex=list(subtopology.source_topic_regex),
        state_changelog_topics=_topic_rows(subtopology.state_changelog_topics),
        repartition_sink_topics=list(subtopology.repartition_sink_topics),
        repartition_source_topics=_topic_rows(subtopology.repartition_source_topics),
        copartition_groups=[
            _Topology.CopartitionGroup(
                list(group.source_topics),
                list(group.source_topic_regex),
                list(group.repartition_source_topics),
            )
            for group in subtopology.copartition_groups
        ],
    )


def _topic_rows(topics: Iterable[TopicInfo]) -> list[StreamsGroupTopologyValue.TopicInfo]:
    return [
        _Topology.TopicInfo(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            [_Topology.TopicConfig(*config) for config in topic.configs],
        )
        for topic in topics
    ]


def topology_of(value: StreamsGroupTopologyValue | StreamsGroupHeartbeatRequest.Topology) -> Topology:
    """What the record, or a member that says it in the same words, tells of the application."""
    return Topology(value.epoch, {row.subtopology_id: _subtopology(row) for row in value.subtopologies})


def _subtopology(
    row: StreamsGroupTopologyValue.Subtopology | StreamsGroupHeartbeatRequest.Subtopology,
) -> Subtopology:
    return Subtopology(
        subtopology_id=row.subtopology_id,
        source_topics=tuple(row.source_topics),
        source_topic_regex=tuple(row.source_topic_regex),
        state_changelog_topics=_topics(row.state_changelog_topics),
        repartition_sink_topics=tuple(row.repartition_sink_topics),
        repartition_source_topics=_topics(row.repartition_source_topics),
        copartition_groups=tuple(
            CopartitionGroup(
                tuple(group.source_topics),
                tuple(group.source_topic_regex),
                tuple(group.repartition_source_topics),
            )
            for group in row.copartition_groups
        ),
    )


def _topics(
    rows: Iterable[StreamsGroupTopologyValue.TopicInfo | StreamsGroupHeartbeatRequest.TopicInfo],
) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            row.name,
            row.partitions,
            row.replication_factor,
            tuple((config.key, config.value) for config in row.topic_configs),
        )
        for row in rows
    )
