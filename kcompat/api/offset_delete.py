"""OffsetDelete (key 47), version 0 (KIP-496).

Behaviour
- Deletes single offsets of a group. If a consumer group has members, the topics that they consume are refused
  one by one; a group of another kind with members is refused as a whole. A partition without an offset is no
  error, a missing partition is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = OffsetDeleteResponse.OffsetDeleteResponseTopic
PartitionAnswer = OffsetDeleteResponse.OffsetDeleteResponsePartition


def handle(
    context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Promise[OffsetDeleteResponse]:
    """Delete the offsets of the partitions that are not refused."""
    if not context.may(Operation.DELETE, Resource.group(request.group_id)):
        return OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    image = context.services.cluster.metadata.image
    refused: dict[tuple[str, int], ErrorCode] = {}
    present: list[tuple[str, int]] = []
    for requested in request.topics:
        is_allowed = context.may(Operation.READ, Resource.topic(requested.name))
        for partition in ((requested.name, row.partition_index) for row in requested.partitions):
            if not is_allowed:
                refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image.partition(*partition) is None:
                refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                present.append(partition)

    def answer(outcome: tuple[ErrorCode, dict[tuple[str, int], ErrorCode]]) -> OffsetDeleteResponse:
        group_error, errors = outcome
        if group_error != ErrorCode.NONE:
            return OffsetDeleteResponse(error_code=group_error)
        topics: dict[str, TopicAnswer] = {}
        # Refused partitions come first, as on a Kafka broker.
        for (name, index), error in [*refused.items(), *((each, errors[each]) for each in present)]:
            topic = topics.setdefault(name, TopicAnswer(name=name))
            topic.partitions.append(PartitionAnswer(partition_index=index, error_code=error))
        return OffsetDeleteResponse(topics=list(topics.values()))

    return context.services.coordinators.groups.delete_offsets(request.group_id, present).map(answer)
