"""DeleteRecords (key 21), versions 0-2: move a partition's log start forward (KIP-107).

Behaviour
- Offset -1 means the high watermark. Only topics whose cleanup policy has `delete` (POLICY_VIOLATION
  otherwise), and no internal ones (INVALID_TOPIC_EXCEPTION).
- A partition named twice counts once, with the offset named last.
- The answer is durable: a kill right after it does not bring the records back (a difference: Kafka may undo
  it for a minute).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

TopicAnswer = DeleteRecordsResponse.DeleteRecordsTopicResult
PartitionAnswer = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Advance each log start; the low watermark of one replica is its log start."""
    response = DeleteRecordsResponse()
    for topic in request.topics:
        topic_answer = TopicAnswer(name=topic.name)
        offsets = {asked.partition_index: asked.offset for asked in topic.partitions}
        is_allowed = context.may(Operation.DELETE, Resource.topic(topic.name))
        for index, offset in offsets.items():
            if is_allowed:
                error, low_watermark = _delete(context, topic.name, index, offset)
            else:
                error, low_watermark = ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1
            topic_answer.partitions.append(
                PartitionAnswer(partition_index=index, low_watermark=low_watermark, error_code=error)
            )
        response.topics.append(topic_answer)
    return response


def _delete(context: RequestContext, topic: str, index: int, offset: int) -> tuple[ErrorCode, int]:
    partition = context.services.replicas.find(topic, index)
    if partition == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return partition, -1
    if is_internal(topic):
        return ErrorCode.INVALID_TOPIC_EXCEPTION, -1
    if isinstance(partition, ErrorCode):
        return partition, -1
    return partition.delete_records_before(offset)
