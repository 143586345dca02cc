"""OffsetForLeaderEpoch (key 23), versions 0-4: return the end offset of a leader epoch. With it a follower or
consumer finds where its log or position diverges from the leader's log (KIP-101, KIP-320).

Behaviour
- Brokers (CLUSTER_ACTION) may query every topic, clients the topics that they may DESCRIBE.

Version notes
- 1: the response has the epoch found. 2: the request has the current leader epoch, which is fenced.
- 3: the request has a replica id (-1 for a consumer). 4: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

TopicAnswer = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
PartitionAnswer = OffsetForLeaderEpochResponse.EpochEndOffset


def handle(context: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Return the end offset of each epoch, from the epoch cache of the partition's leader."""
    response = OffsetForLeaderEpochResponse()
    may_all = context.may(Operation.CLUSTER_ACTION, CLUSTER, Purpose.FILTER)
    for topic in request.topics:
        topic_answer = TopicAnswer(topic=topic.topic)
        is_allowed = may_all or context.may(Operation.DESCRIBE, Resource.topic(topic.topic))
        for requested in topic.partitions:
            answer = PartitionAnswer(partition=requested.partition)
            topic_answer.partitions.append(answer)
            if not is_allowed:
                answer.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                continue
            partition = context.services.storage.replicas.find(topic.topic, requested.partition)
            if isinstance(partition, ErrorCode):
                answer.error_code = partition
            else:
                error, epoch, end_offset = partition.end_offset_for_epoch(
                    requested.leader_epoch, requested.current_leader_epoch
                )
                answer.error_code, answer.leader_epoch, answer.end_offset = error, epoch, end_offset
        response.topics.append(topic_answer)
    return response
