"""StreamsGroupDescribe (key 89), version 0: state, topology and members of streams groups (KIP-1071).

Behaviour
- Shows the topology with the number of partitions of each internal topic. While source topics are missing, it
  is shown as the members sent it.
- Shows each member's assigned and target tasks. Offsets of tasks are left out, as members do not send them.
- A group whose topology names a topic that the client may not describe gets TOPIC_AUTHORIZATION_FAILED and
  shows nothing else. Groups of other kinds get GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_access import described_groups
from kcompat.api.group_protocols import serves_streams_groups
from kcompat.group.kinds.table import STREAMS_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.streams.requests import (
        DescribedStreamsGroup,
        DescribedStreamsMember,
        DescribedTopic,
        DescribedTopology,
    )

HIDDEN_TOPICS = "The described group uses topics that the client is not authorized to describe."

_Response = StreamsGroupDescribeResponse
_Group = StreamsGroupDescribeResponse.DescribedGroup
_Row = StreamsGroupDescribeResponse.TaskIds


def handle(context: RequestContext, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    """Describe each streams group."""
    is_served = serves_streams_groups(context.services)
    rows = described_groups(context, request, STREAMS_KIND, _Group, _response, is_served=is_served)
    return _Response(groups=rows)


def _response(context: RequestContext, group: DescribedStreamsGroup) -> _Group:
    if group.state is None:
        return _Group(group_id=group.group_id, error_code=group.error, error_message=group.message)
    topology = group.topology
    names = {name for each in topology.subtopologies for name in each.topics()} if topology else set()
    if not all(context.may(Operation.DESCRIBE, Resource.topic(name)) for name in names):
        return _Group(
            group_id=group.group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=HIDDEN_TOPICS,
        )
    return _Group(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology=None if topology is None else _topology(topology),
        members=[_member(member) for member in group.members],
    )


def _topology(topology: DescribedTopology) -> StreamsGroupDescribeResponse.Topology:
    return _Response.Topology(
        topology.epoch,
        [
            _Response.Subtopology(
                each.subtopology_id,
                list(each.source_topics),
                list(each.repartition_sink_topics),
                _topics(each.state_changelog_topics),
                _topics(each.repartition_source_topics),
            )
            for each in topology.subtopologies
        ],
    )


def _topics(topics: Iterable[DescribedTopic]) -> list[StreamsGroupDescribeResponse.TopicInfo]:
    return [
        _Response.TopicInfo(topic.name, topic.partitions, topic.replication_factor, _pairs(topic.configs))
        for topic in topics
    ]


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[StreamsGroupDescribeResponse.KeyValue]:
    return [_Response.KeyValue(key, value) for key, value in pairs]


def _member(member: DescribedStreamsMember) -> StreamsGroupDescribeResponse.Member:
    endpoint, assigned, target = member.endpoint, member.assigned, member.target
    return _Response.Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else _Response.Endpoint(*endpoint),
        client_tags=_pairs(member.client_tags.items()),
        assignment=_Response.Assignment(
            _rows(assigned.active), _rows(assigned.standby), _rows(assigned.warmup)
        ),
        target_assignment=_Response.Assignment(
            _rows(target.active), _rows(target.standby), _rows(target.warmup)
        ),
    )


def _rows(tasks: Mapping[str, Iterable[int]]) -> list[_Row]:
    return [_Row(subtopology, sorted(tasks[subtopology])) for subtopology in sorted(tasks)]
