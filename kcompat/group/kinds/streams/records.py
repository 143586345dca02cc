"""Records of streams groups in `__consumer_offsets`, in the formats of Kafka 4.3: writing and replay."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from kcompat.group.kinds.streams.member import StreamsMember, StreamsMemberState, UserEndpoint
from kcompat.group.kinds.streams.members import Basis
from kcompat.group.kinds.streams.tasks import HeldTasks, Tasks, task_sets
from kcompat.group.kinds.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from kcompat.group.modern.records import ModernRecords
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

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.streams.members import StreamsMembers
    from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

_CurrentRow = StreamsGroupCurrentMemberAssignmentValue.TaskIds
_TargetRow = StreamsGroupTargetAssignmentMemberValue.TaskIds
_Member = StreamsGroupMemberMetadataValue
_Topology = StreamsGroupTopologyValue


def _replay_topology(
    group: StreamsMembers,
    _key: StreamsGroupTopologyKey,
    value: StreamsGroupTopologyValue | None,
    offset: int,
) -> None:
    group.set_topology(None if value is None else topology_of(value), offset)


class StreamsRecords(ModernRecords[StreamsMember, Tasks]):
    """The records of streams groups."""

    group = StreamsGroupMetadataKey, StreamsGroupMetadataValue
    member = StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue
    target_epoch = StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue
    target = StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue
    current = StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue
    topology = StreamsGroupTopologyKey, StreamsGroupTopologyValue
    others = MappingProxyType({topology: _replay_topology})
    new_member = StreamsMember

    def member_value(self, member: StreamsMember) -> StreamsGroupMemberMetadataValue:
        endpoint, tags = member.endpoint, member.client_tags
        return _Member(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None if endpoint is None else _Member.Endpoint(*endpoint),
            client_tags=[_Member.KeyValue(key, tags[key]) for key in sorted(tags, key=java_order)],
        )

    def with_member(self, member: StreamsMember, value: StreamsGroupMemberMetadataValue) -> StreamsMember:
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
            endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
            client_tags={row.key: row.value for row in value.client_tags},
        )

    def current_value(self, member: StreamsMember) -> StreamsGroupCurrentMemberAssignmentValue:
        assigned, revoking = member.assigned, member.revoking
        return StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            active_tasks=_active_rows(assigned.active),
            standby_tasks=_rows(assigned.standby),
            warmup_tasks=_rows(assigned.warmup),
            active_tasks_pending_revocation=_active_rows(revoking.active),
            standby_tasks_pending_revocation=_rows(revoking.standby),
            warmup_tasks_pending_revocation=_rows(revoking.warmup),
        )

    def with_current(
        self, member: StreamsMember, value: StreamsGroupCurrentMemberAssignmentValue
    ) -> StreamsMember:
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=StreamsMemberState(value.state),
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

    def target_value(self, target: Tasks) -> StreamsGroupTargetAssignmentMemberValue:
        return StreamsGroupTargetAssignmentMemberValue(
            _target_rows(target.active), _target_rows(target.standby), _target_rows(target.warmup)
        )

    def target_of(self, value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
        return Tasks(_sets(value.active_tasks), _sets(value.standby_tasks), _sets(value.warmup_tasks))

    def write_epoch_on(
        self, transition: GroupTransition, group_id: str, epoch: int, metadata_hash: int, basis: Basis
    ) -> None:
        """Write the group epoch and its basis."""
        row = StreamsGroupMetadataValue.LastAssignmentConfig
        configs = [row(*each) for each in sorted(basis.assignment_configs.items())]
        self.write_epoch(transition, group_id, epoch, metadata_hash, basis.validated_epoch, configs)

    def replay_group(self, group: StreamsMembers, key: Any, value: Any, offset: int) -> None:
        super().replay_group(group, key, value, offset)
        group.set_basis(None if value is None else _basis(value), offset)

    def write_topology(self, transition: GroupTransition, group_id: str, topology: Topology) -> None:
        """Write the topology of the application."""
        rows = [_subtopology_row(each) for each in topology.subtopologies.values()]
        transition.write(StreamsGroupTopologyKey(group_id), _Topology(topology.epoch, rows))

    def write_all_tombstones(
        self, transition: GroupTransition, group_id: str, member_ids: Iterable[str]
    ) -> None:
        """Write the tombstones of a whole group."""
        self.write_group_tombstones(transition, group_id, member_ids)
        transition.write(StreamsGroupTopologyKey(group_id), None)


def _basis(value: StreamsGroupMetadataValue) -> Basis:
    rows = value.last_assignment_configs or ()
    return Basis(value.validated_topology_epoch, {row.key: row.value for row in rows})


def _active_rows(tasks: Mapping[str, Mapping[int, int]]) -> list[_CurrentRow]:
    rows = []
    for subtopology in sorted(tasks, key=java_order):
        epochs = tasks[subtopology]
        numbers = sorted(epochs)
        rows.append(_CurrentRow(subtopology, numbers, [epochs[number] for number in numbers]))
    return rows


def _rows(tasks: Mapping[str, frozenset[int]]) -> list[_CurrentRow]:
    return [_CurrentRow(each, sorted(tasks[each])) for each in sorted(tasks, key=java_order)]


def _epochs(rows: Iterable[_CurrentRow], member_epoch: int) -> dict[str, dict[int, int]]:
    """Return tasks with their assignment epochs; the epoch is the member's if Kafka before 4.3 wrote the
    record.
    """
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


def _target_rows(tasks: Mapping[str, frozenset[int]]) -> list[_TargetRow]:
    return [_TargetRow(each, sorted(tasks[each])) for each in sorted(tasks, key=java_order)]


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
    """Return the topology in a record, or in a heartbeat, which has the same fields."""
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


RECORDS: Final = StreamsRecords()
