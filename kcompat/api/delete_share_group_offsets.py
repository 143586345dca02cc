"""DeleteShareGroupOffsets (key 92), version 0: delete a share group's offsets in topics (KIP-932).

Behaviour
- The client needs DELETE on the group, and READ on each topic. The group must have no members.
- Each topic has its own error. A topic without a share partition of the group gets
  UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_protocols import serves_share_groups
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.share.groups import DeletedOffsets
    from kcompat.promise import Promise
    from kcompat.share.persister import Outcome

Topic = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic


def handle(
    context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse | Promise[DeleteShareGroupOffsetsResponse]:
    """Delete the offsets of the topics that the client may read."""
    if not serves_share_groups(context.services):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    if not context.may(Operation.DELETE, Resource.group(request.group_id)):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
    denied = [name for name in names if not context.may(Operation.READ, Resource.topic(name))]
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    rows = [Topic(name, ZERO_UUID, error, error.message) for name in denied]

    def answer(deleted: DeletedOffsets) -> DeleteShareGroupOffsetsResponse:
        if deleted.error:
            return _refused(deleted.error, deleted.message)
        found = [_row(context, name, outcome) for name, outcome in deleted.outcomes.items()]
        return DeleteShareGroupOffsetsResponse(responses=rows + found)

    allowed = [name for name in names if name not in denied]
    return context.services.coordinators.groups.share.delete_offsets(request.group_id, allowed).map(answer)


def _refused(error: ErrorCode, message: str | None = None) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error, error_message=message or error.message)


def _row(context: RequestContext, name: str, outcome: Outcome) -> Topic:
    """Return the response row of a topic. The row has no topic id if the share coordinator was not called."""
    topic = context.services.cluster.metadata.image.topics.get(name)
    was_requested = topic is not None and outcome.error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic_id = topic.topic_id if topic is not None and was_requested else ZERO_UUID
    return Topic(name, topic_id, outcome.error, outcome.message)
