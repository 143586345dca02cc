"""DeleteRecords (key 21), versions 0-2: move a partition's log start forward (KIP-107).

Behaviour
- Offset -1 means the high watermark. A topic whose cleanup policy lacks `delete` is refused with
  POLICY_VIOLATION, an internal topic with INVALID_TOPIC_EXCEPTION.
- A partition that is named twice has one row, for the last offset.
- The response waits until the logs of all followers on live brokers start at the offset, too. Partitions for
  which this takes longer than the request's timeout get REQUEST_TIMED_OUT.
- The new log start is durable before the response. In Kafka a kill within a minute may bring the records
  back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kcompat.replication.partition import Partition
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = DeleteRecordsResponse.DeleteRecordsTopicResult
PartitionAnswer = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(
    context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Promise[DeleteRecordsResponse]:
    """Advance the log start of each partition, and wait for the followers."""
    response = DeleteRecordsResponse()
    waiting: dict[Partition, tuple[int, PartitionAnswer]] = {}
    for topic in request.topics:
        topic_answer = TopicAnswer(name=topic.name)
        offsets = {requested.partition_index: requested.offset for requested in topic.partitions}
        is_allowed = context.may(Operation.DELETE, Resource.topic(topic.name))
        for index, offset in offsets.items():
            answer = PartitionAnswer(partition_index=index, low_watermark=-1)
            topic_answer.partitions.append(answer)
            if not is_allowed:
                answer.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                continue
            partition = _find(context, topic.name, index)
            if isinstance(partition, Partition):
                answer.error_code, required = partition.delete_records_before(offset)
                if not answer.error_code:
                    answer.low_watermark = partition.low_watermark
                    if answer.low_watermark < required:
                        waiting[partition] = (required, answer)
            else:
                answer.error_code = partition
        response.topics.append(topic_answer)
    return _wait(context, request.timeout_ms, waiting, response) if waiting else response


def _find(context: RequestContext, topic: str, index: int) -> Partition | ErrorCode:
    """Return a partition, or the error that prevents deletion of its records."""
    partition = context.services.storage.replicas.find(topic, index)
    if partition != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_internal(topic):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return partition


def _wait(
    context: RequestContext,
    timeout_ms: int,
    waiting: dict[Partition, tuple[int, PartitionAnswer]],
    response: DeleteRecordsResponse,
) -> Promise[DeleteRecordsResponse]:
    def settle(partition: Partition, error: ErrorCode) -> None:
        answer = waiting[partition][1]
        answer.error_code = error
        if error != ErrorCode.REQUEST_TIMED_OUT:  # a timeout keeps the low watermark from before the wait
            answer.low_watermark = -1 if error else partition.low_watermark

    required = {partition: offset for partition, (offset, _) in waiting.items()}
    operation = DelayedProgress(required, settle, response, Partition.deleted)
    return context.services.storage.replicas.deletions.wait(operation, tuple(waiting), timeout_ms).promise
