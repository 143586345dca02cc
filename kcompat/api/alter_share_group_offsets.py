"""AlterShareGroupOffsets (key 91), version 0: share partitions restart at other offsets (KIP-932).

Behaviour
- The client needs READ on the group and on each topic. The group must have no members; a missing group is
  created.
- Each partition has its own error. The delivery state of each altered partition is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_protocols import serves_share_groups
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.share.groups import AlteredOffsets
    from kcompat.promise import Promise

Requested = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
Topic = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
Row = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition


def handle(
    context: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse | Promise[AlterShareGroupOffsetsResponse]:
    """Alter the offsets of the topics that the client may read."""
    if not serves_share_groups(context.services):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    topics = {topic.topic_name: topic for topic in request.topics}
    errors = {name: _topic_error(context, name) for name in topics}
    offsets = {
        name: {row.partition_index: row.start_offset for row in topic.partitions}
        for name, topic in topics.items()
        if not errors[name]
    }

    def answer(altered: AlteredOffsets) -> AlterShareGroupOffsetsResponse:
        if altered.error:
            return _refused(altered.error, altered.message)
        refused = [name for name, error in errors.items() if error]
        rows = [_topic(context, topics[name], errors[name], {}) for name in refused]
        rows += [_topic(context, topics[name], ErrorCode.NONE, altered.outcomes) for name in offsets]
        return AlterShareGroupOffsetsResponse(responses=rows)

    return context.services.coordinators.groups.share.alter_offsets(request.group_id, offsets).map(answer)


def _refused(error: ErrorCode, message: str | None = None) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error, error_message=message or error.message)


def _topic_error(context: RequestContext, name: str) -> ErrorCode:
    if not context.may(Operation.READ, Resource.topic(name)):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    known = name in context.services.cluster.metadata.image.topics
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(
    context: RequestContext, requested: Requested, error: ErrorCode, outcomes: dict[tuple[str, int], Outcome]
) -> Topic:
    topic = context.services.cluster.metadata.image.topics.get(requested.topic_name)
    otherwise = error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown = Outcome(otherwise, otherwise.message)
    rows = []
    for row in requested.partitions:
        outcome = outcomes.get((requested.topic_name, row.partition_index), unknown)
        rows.append(Row(row.partition_index, outcome.error, outcome.message))
    return Topic(requested.topic_name, ZERO_UUID if topic is None else topic.topic_id, rows)
