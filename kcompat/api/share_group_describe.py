"""ShareGroupDescribe (key 77), version 1: state, epochs and members of share groups (KIP-932).

Behaviour
- Shows each member's assignment, without deleted topics.
- A group with an assigned topic that the client may not describe gets TOPIC_AUTHORIZATION_FAILED and shows no
  members.
- Groups of other kinds get GROUP_ID_NOT_FOUND. Version 0 was early access and is not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_access import HIDDEN_TOPICS, described_groups
from kcompat.api.group_protocols import serves_share_groups
from kcompat.group.kinds.table import SHARE_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.share.requests import DescribedShareGroup, DescribedSharer

_Group = ShareGroupDescribeResponse.DescribedGroup
_Member = ShareGroupDescribeResponse.Member
_Assignment = ShareGroupDescribeResponse.Assignment
_Row = ShareGroupDescribeResponse.TopicPartitions


def handle(context: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    """Describe each share group."""
    is_served = serves_share_groups(context.services)
    rows = described_groups(context, request, SHARE_KIND, _Group, _response, is_served=is_served)
    return ShareGroupDescribeResponse(groups=rows)


def _response(context: RequestContext, group: DescribedShareGroup) -> _Group:
    if group.error:
        return _Group(group_id=group.group_id, error_code=group.error, error_message=group.message)
    members = [_member(context, member) for member in group.members]
    topics = {row.topic_name for member in members for row in member.assignment.topic_partitions}
    if not all(context.may(Operation.DESCRIBE, Resource.topic(topic)) for topic in topics):
        return _Group(
            group_id=group.group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=HIDDEN_TOPICS,
        )
    return _Group(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=members,
    )


def _member(context: RequestContext, member: DescribedSharer) -> _Member:
    image = context.services.cluster.metadata.image
    topics = {topic_id: image.topic_by_id(topic_id) for topic_id in member.assigned}
    return _Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topics),
        assignment=_Assignment(
            [
                _Row(topic_id, topic.name, list(member.assigned[topic_id]))
                for topic_id, topic in topics.items()
                if topic is not None
            ]
        ),
    )
