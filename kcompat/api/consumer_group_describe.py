"""ConsumerGroupDescribe (key 69), versions 0-1: state, epochs and members of consumer groups (KIP-848).

Behaviour
- Shows each member's assignment, including partitions that it has yet to revoke, and its target assignment.
  Deleted topics are left out.
- A group with a topic that the client may not describe gets TOPIC_AUTHORIZATION_FAILED and shows no members.
- Classic groups get GROUP_ID_NOT_FOUND.

Version notes
- 1: whether a member uses the classic or the consumer protocol (KIP-1099).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_access import HIDDEN_TOPICS, described_groups
from kcompat.api.group_protocols import serves_consumer_groups
from kcompat.group.kinds.table import CONSUMER_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.consumer.requests import DescribedConsumer, DescribedConsumerGroup

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

_Group = ConsumerGroupDescribeResponse.DescribedGroup
_Member = ConsumerGroupDescribeResponse.Member
_Assignment = ConsumerGroupDescribeResponse.Assignment
_Row = ConsumerGroupDescribeResponse.TopicPartitions


def handle(context: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Describe each consumer group."""
    is_served = serves_consumer_groups(context.services)
    rows = described_groups(context, request, CONSUMER_KIND, _Group, _response, is_served=is_served)
    return ConsumerGroupDescribeResponse(groups=rows)


def _response(context: RequestContext, group: DescribedConsumerGroup) -> _Group:
    if group.state is None:
        return _Group(group_id=group.group_id, error_code=group.error, error_message=group.message)
    members = [_member(context, member) for member in group.members]
    row = _Group(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=members,
    )
    topics = {
        found.topic_name
        for member in members
        for assignment in (member.assignment, member.target_assignment)
        for found in assignment.topic_partitions
    }
    topics.update(name for member in group.members for name in member.subscribed_topics)
    if not all(context.may(Operation.DESCRIBE, Resource.topic(topic)) for topic in topics):
        return _Group(
            group_id=group.group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=HIDDEN_TOPICS,
        )
    return row


def _member(context: RequestContext, member: DescribedConsumer) -> _Member:
    return _Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topics),
        subscribed_topic_regex=member.subscribed_regex,
        assignment=_assignment(context, member.assigned),
        target_assignment=_assignment(context, member.target),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _assignment(context: RequestContext, partitions: Mapping[bytes, tuple[int, ...]]) -> _Assignment:
    image = context.services.cluster.metadata.image
    rows = []
    for topic_id, indexes in partitions.items():
        topic = image.topic_by_id(topic_id)
        if topic is not None:
            rows.append(_Row(topic_id, topic.name, list(indexes)))
    return _Assignment(rows)
