"""OffsetDelete (key 47), version 0 (KIP-496).

Behaviour
- Deletes single offsets of a group. Those of topics that a live consumer group consumes are refused one by
  one; another live group is refused whole. A partition without an offset is no error; one that does not exist
  is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.later import respond
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = OffsetDeleteResponse.OffsetDeleteResponseTopic
PartitionAnswer = OffsetDeleteResponse.OffsetDeleteResponsePartition


def handle(
    context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Promise[OffsetDeleteResponse]:
    """Delete what may be deleted."""
    image = context.services.cluster.image
    response = OffsetDeleteResponse()
    waiting: dict[tuple[str, int], PartitionAnswer] = {}
    for topic in request.topics:
        answer = TopicAnswer(name=topic.name)
        response.topics.append(answer)
        for partition in topic.partitions:
            row = PartitionAnswer(partition_index=partition.partition_index)
            answer.partitions.append(row)
            if image.partition(topic.name, row.partition_index) is None:
                row.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                waiting[topic.name, row.partition_index] = row

    def settle(outcome: tuple[ErrorCode, dict[tuple[str, int], ErrorCode]]) -> OffsetDeleteResponse:
        error, errors = outcome
        if error != ErrorCode.NONE:
            return OffsetDeleteResponse(error_code=error)
        for partition, row in waiting.items():
            row.error_code = errors[partition]
        return response

    return respond(context.services.groups.delete_offsets(request.group_id, list(waiting)), settle)
