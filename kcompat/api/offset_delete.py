"""OffsetDelete (key 47), version 0 (KIP-496).

Behaviour
- Deletes single offsets of a group. Those of topics that a live consumer group consumes are refused one by
  one; another live group is refused whole. A partition without an offset is no error; one that does not exist
  is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = OffsetDeleteResponse.OffsetDeleteResponseTopic
PartitionAnswer = OffsetDeleteResponse.OffsetDeleteResponsePartition


def handle(context: RequestContext, request: OffsetDeleteRequest) -> Promise[OffsetDeleteResponse]:
    """Delete what may be deleted."""
    image = context.services.cluster.image
    asked = [(t.name, p.partition_index) for t in request.topics for p in t.partitions]
    absent = [partition for partition in asked if image.partition(*partition) is None]
    present = [partition for partition in asked if image.partition(*partition) is not None]

    def answer(outcome: tuple[ErrorCode, dict[tuple[str, int], ErrorCode]]) -> OffsetDeleteResponse:
        error, errors = outcome
        if error != ErrorCode.NONE:
            return OffsetDeleteResponse(error_code=error)
        topics: dict[str, TopicAnswer] = {}
        for name, index in [*absent, *present]:  # those refused come first, as on a Kafka broker
            topic = topics.setdefault(name, TopicAnswer(name=name))
            error = errors.get((name, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions.append(PartitionAnswer(partition_index=index, error_code=error))
        return OffsetDeleteResponse(topics=list(topics.values()))

    return context.services.groups.delete_offsets(request.group_id, present).map(answer)
