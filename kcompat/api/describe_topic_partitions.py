"""DescribeTopicPartitions (key 75), version 0 (KIP-966).

Behaviour
- Topics come in ascending order of names; an empty list requests all topics. The response has at most
  `response_partition_limit` partitions, between 1 and `max.request.partition.size.limit`, and a cursor for
  the next request.
- The cursor's partition index must not be negative, and its topic must be one of the named topics. Otherwise
  every row gets INVALID_REQUEST.
- Topics that the client may not describe are left out if it requests all topics. If it names them, they come
  last, with TOPIC_AUTHORIZATION_FAILED.
- Authorised operations are always included. Eligible leader replicas belong to KRaft, so their lists are
  empty, as on a Kafka broker without that feature.
- Topics are never created. The response waits for the controller's first metadata update, as that of Metadata
  does; if none comes in time, the topics get LEADER_NOT_AVAILABLE.
- An empty name gets INVALID_TOPIC_EXCEPTION, as any illegal name. (Kafka fails the whole request with
  UNKNOWN_SERVER_ERROR.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import absence_error, leader_error, offline_replicas, reachable_brokers
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import ClusterImage, TopicImage
    from kcompat.promise import Promise

TopicAnswer = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
PartitionAnswer = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor


def handle(
    context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse | Promise[DescribeTopicPartitionsResponse]:
    """Describe the topics from the cursor on, up to the limit of partitions."""
    return context.services.cluster.first_metadata_update.wait_then(lambda: _answer(context, request))


def _answer(
    context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    image = context.services.cluster.metadata.image
    names = {topic.name for topic in request.topics}
    cursor = request.cursor
    first_name, first_partition = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    if first_partition < 0 or (cursor is not None and names and first_name not in names):
        return DescribeTopicPartitionsResponse(
            topics=[TopicAnswer(error_code=ErrorCode.INVALID_REQUEST, name=name) for name in sorted(names)]
        )
    largest = context.services.server.config.max_request_partition_size_limit
    room = max(min(request.response_partition_limit, largest), 1)
    reachable = reachable_brokers(context).keys()
    response = DescribeTopicPartitionsResponse()
    wanted = [name for name in sorted(names or image.topics) if name >= first_name]
    allowed = {name for name in wanted if context.may(Operation.DESCRIBE, Resource.topic(name))}
    for name in wanted:
        if name not in allowed:
            continue
        start = first_partition if name == first_name else 0
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=start)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(TopicAnswer(error_code=absence_error(name, image), name=name))
            continue
        indexes = [index for index in topic.partitions if index >= start]
        response.topics.append(_describe(topic, indexes[:room], image, reachable))
        if len(indexes) > room:
            response.next_cursor = Cursor(topic_name=name, partition_index=indexes[room])
            break
        room -= len(indexes)
    for row in response.topics:
        row.topic_authorized_operations = context.operations_on(Resource.topic(row.name or ""))
    if names:
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        response.topics += [
            TopicAnswer(error_code=denied, name=name) for name in wanted if name not in allowed
        ]
    return response


def _describe(
    topic: TopicImage, indexes: Sequence[int], image: ClusterImage, reachable: AbstractSet[int]
) -> TopicAnswer:
    answers = []
    for index in indexes:
        partition = topic.partitions[index]
        error = leader_error(partition, image.brokers, reachable)
        answers.append(
            PartitionAnswer(
                error_code=error,
                partition_index=index,
                leader_id=partition.leader if error is ErrorCode.NONE else -1,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=offline_replicas(partition, reachable),
            )
        )
    return TopicAnswer(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=answers,
    )
