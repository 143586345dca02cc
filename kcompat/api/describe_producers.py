"""DescribeProducers (key 61), version 0: the idempotent and transactional producers of a partition (KIP-664).

Behaviour
- The broker describes its own replica, a leader or a follower. A broker without a replica of the partition
  answers NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

TopicAnswer = DescribeProducersResponse.TopicResponse
PartitionAnswer = DescribeProducersResponse.PartitionResponse


def handle(context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """List the producer states in this broker's replica of each partition."""
    response = DescribeProducersResponse()
    for topic in request.topics:
        topic_answer = TopicAnswer(name=topic.name)
        refusal = _refusal(context, topic.name)
        for index in topic.partition_indexes:
            if refusal is None:
                answer = _describe(context, topic.name, index)
            else:
                answer = PartitionAnswer(index, refusal, refusal.message)
            topic_answer.partitions.append(answer)
        response.topics.append(topic_answer)
    return response


def _refusal(context: RequestContext, topic: str) -> ErrorCode | None:
    """Return the error for all partitions of a topic, or None."""
    if name_problem(topic):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not context.may(Operation.READ, Resource.topic(topic)):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if topic not in context.services.cluster.metadata.image.topics:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def _describe(context: RequestContext, topic: str, index: int) -> PartitionAnswer:
    answer = PartitionAnswer(partition_index=index)
    partition = context.services.storage.replicas.find(topic, index)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
    elif partition.log.is_failed:
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        answer.active_producers = [
            DescribeProducersResponse.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.current_txn_start_offset,
            )
            for producer in partition.log.producers
        ]
    return answer
