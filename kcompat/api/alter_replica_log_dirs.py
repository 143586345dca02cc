"""AlterReplicaLogDirs (key 34), versions 0-2: replicas of this broker move to another log directory
(KIP-113).

Behaviour
- The response is sent as soon as the moves have begun. DescribeLogDirs shows the progress. A request that
  names the replica's present directory cancels its move.
- If this broker has no replica of the partition, it remembers the directory for a later replica and answers
  REPLICA_NOT_AVAILABLE. A partition that no broker has gets UNKNOWN_TOPIC_OR_PARTITION.
- LOG_DIR_NOT_FOUND: the directory does not exist. KAFKA_STORAGE_ERROR: the directory or the replica's present
  one has failed; or any directory has failed and the move needs a copy, which may be in the failed one.
  INVALID_TOPIC_EXCEPTION: the topic name is too long for the directory name of a copy.
- A partition that is named with two directories moves to the last one.

Version notes
- 2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

TopicAnswer = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
PartitionAnswer = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


def handle(context: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Begin, redirect or cancel the move of each replica."""
    is_allowed = context.may(Operation.ALTER, CLUSTER)
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    answers: dict[str, TopicAnswer] = {}
    for (topic_name, index), path in wanted.items():
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if is_allowed:
            error = context.services.storage.moves.move(topic_name, index, path)
        answer = answers.setdefault(topic_name, TopicAnswer(topic_name))
        answer.partitions.append(PartitionAnswer(index, error))
    return AlterReplicaLogDirsResponse(results=list(answers.values()))
