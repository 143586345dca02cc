"""ListOffsets (key 2), versions 0-11.

Behaviour
- Timestamp -1 returns the latest offset: the high watermark, or the last stable offset for read_committed. -2
  returns the log start, -3 the offset of the largest timestamp (KIP-734), -4 the local log start, and -5 the
  last tiered offset (KIP-405, KIP-1005), which is -1, as nothing is tiered. Any other timestamp returns the
  first record at or after it. Offset -1 without an error means no match. A special timestamp that the version
  does not have is refused for every partition.
- For a broker (a replica id other than -1) the latest offset is the log end. A debugging client (-2) may
  query any replica.
- A partition that is named twice in one request gets INVALID_REQUEST, except in version 0.

Version notes
- 0: a list of offsets, newest first: the base offsets of segments older than the timestamp, at most
  `max_num_offsets`.
- 1: one offset and its timestamp (KIP-79). 2: isolation level. 4: leader epochs (KIP-320). 5:
  OFFSET_NOT_AVAILABLE (KIP-207), for which older versions get LEADER_NOT_AVAILABLE. 7: -3. 8: -4. 9: -5. 11:
  -6 (earliest pending upload, KIP-1023), which is -1, as nothing is uploaded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kcompat.api.topic_access import may_use_topic
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.replication.listing import EARLIEST_TIMESTAMP, offset_for, offsets_before
from kcompat.replication.reading import PartitionReader
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

FIRST_WITH_ONE_OFFSET = 1
FIRST_WITH_LEADER_EPOCH = 4
FIRST_WITH_OFFSET_NOT_AVAILABLE = 5
DEBUGGING = -2
FIRST_VERSION_OF_SPECIAL = {-3: 7, -4: 8, -5: 9, -6: 11}

TopicAnswer = ListOffsetsResponse.ListOffsetsTopicResponse
PartitionAnswer = ListOffsetsResponse.ListOffsetsPartitionResponse
RequestedPartition = ListOffsetsRequest.ListOffsetsPartition


def handle(context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return the offset for the timestamp of each partition."""
    response = ListOffsetsResponse()
    replica = request.replica_id
    reader = PartitionReader(request.isolation_level, replica, leader_only=replica != DEBUGGING)
    requested: dict[tuple[str, int], int] = {}
    for topic in request.topics:
        for row in topic.partitions:
            key = (topic.name, row.partition_index)
            requested[key] = requested.get(key, 0) + 1
    for topic in request.topics:
        topic_answer = TopicAnswer(name=topic.name)
        is_allowed = may_use_topic(context, Operation.DESCRIBE, topic.name)
        for row in topic.partitions:
            repeated = requested[topic.name, row.partition_index] > 1
            if not is_allowed:
                answer = PartitionAnswer(
                    partition_index=row.partition_index, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
                )
            elif repeated and context.api_version >= FIRST_WITH_ONE_OFFSET:
                answer = PartitionAnswer(
                    partition_index=row.partition_index, error_code=ErrorCode.INVALID_REQUEST
                )
            else:
                answer = _answer(context, topic.name, row, reader)
            topic_answer.partitions.append(answer)
        response.topics.append(topic_answer)
    return response


def _answer(
    context: RequestContext, topic: str, row: RequestedPartition, reader: PartitionReader
) -> PartitionAnswer:
    version = context.api_version
    answer = PartitionAnswer(partition_index=row.partition_index)
    if not _is_known(row.timestamp, version):
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        return answer
    partition = context.services.storage.replicas.find(topic, row.partition_index)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
        return answer
    if version < FIRST_WITH_ONE_OFFSET:
        if row.max_num_offsets < 0:
            answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            return answer
        answer.error_code, answer.old_style_offsets = offsets_before(
            partition, row.timestamp, row.max_num_offsets, reader, context.now_ms
        )
        return answer
    found = offset_for(partition, row.timestamp, reader, row.current_leader_epoch)
    error = found.error
    if error == ErrorCode.OFFSET_NOT_AVAILABLE and version < FIRST_WITH_OFFSET_NOT_AVAILABLE:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    answer.error_code = error
    answer.offset = found.offset
    answer.timestamp = found.timestamp
    if version >= FIRST_WITH_LEADER_EPOCH:
        answer.leader_epoch = found.leader_epoch
    return answer


def _is_known(timestamp: int, version: int) -> bool:
    return timestamp >= EARLIEST_TIMESTAMP or version >= FIRST_VERSION_OF_SPECIAL.get(timestamp, math.inf)
