"""DescribeShareGroupOffsets (key 90), versions 0-1: the start offsets of share groups in partitions
(KIP-932).

Behaviour
- The client needs DESCRIBE on each group and topic. Topics that it may not describe are left out if it
  requests all topics, and refused if it names them.
- A request without topics gets all initialized share partitions of the group. An uninitialized share
  partition, or one of a missing topic, has the offset -1, whether or not the group exists.

Version notes
- 1: the number of records that are not delivered yet (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_protocols import serves_share_groups
from kcompat.promise import Promise, gather
from kcompat.protocol.constants import UNKNOWN_OFFSET
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.share.groups import StartOffset, StartOffsets

Requested = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
Group = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
Topic = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
Row = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition


def handle(
    context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> Promise[DescribeShareGroupOffsetsResponse]:
    """Return the start offsets of each group."""
    answers = gather([_describe(context, requested) for requested in request.groups])
    return answers.map(lambda groups: DescribeShareGroupOffsetsResponse(groups=groups))


def _describe(context: RequestContext, requested: Requested) -> Promise[Group]:
    group_id, share_groups = requested.group_id, context.services.coordinators.groups.share
    if not serves_share_groups(context.services):
        return Promise.resolved(Group(group_id, error_code=ErrorCode.UNSUPPORTED_VERSION))
    if not context.may(Operation.DESCRIBE, Resource.group(group_id)):
        return Promise.resolved(Group(group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    if requested.topics is None:

        def everything(found: tuple[ErrorCode, StartOffsets]) -> Group:
            error, offsets = found
            topics = [topic for topic in _topics(context, offsets) if _may(context, topic.topic_name)]
            return Group(group_id, topics, error, error.message if error else None)

        return share_groups.all_offsets(group_id).map(everything)
    known = context.services.cluster.metadata.image.topics
    allowed = [topic for topic in requested.topics if _may(context, topic.topic_name)]
    wanted = {topic.topic_name: topic.partitions for topic in allowed if topic.topic_name in known}
    rest = [
        Topic(topic.topic_name, ZERO_UUID, [Row(index, UNKNOWN_OFFSET) for index in topic.partitions])
        for topic in allowed
        if topic.topic_name not in known
    ]
    rest += [_denied(topic) for topic in requested.topics if not _may(context, topic.topic_name)]
    found = share_groups.offsets(group_id, wanted)
    return found.map(lambda offsets: Group(group_id, _topics(context, offsets) + rest))


def _may(context: RequestContext, topic: str) -> bool:
    return context.may(Operation.DESCRIBE, Resource.topic(topic))


def _denied(topic: DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic) -> Topic:
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    rows = [
        Row(index, UNKNOWN_OFFSET, error_code=error, error_message=error.message)
        for index in topic.partitions
    ]
    return Topic(topic.topic_name, ZERO_UUID, rows)


def _topics(context: RequestContext, offsets: StartOffsets) -> list[Topic]:
    known = context.services.cluster.metadata.image.topics
    topics: dict[str, Topic] = {}
    for (name, index), offset in offsets.items():
        topic_id = known[name].topic_id if name in known else ZERO_UUID
        topics.setdefault(name, Topic(name, topic_id)).partitions.append(_row(index, offset))
    return list(topics.values())


def _row(index: int, offset: StartOffset) -> Row:
    error = offset.error
    message = error.message if error else None
    return Row(index, offset.start_offset, offset.leader_epoch, offset.lag, error, message)
