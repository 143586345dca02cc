"""AlterReplicaLogDirs (key 34), versions 0-2: replicas of this broker move to other log directories of it
(KIP-113).

Behaviour
- The answer comes as soon as a move has begun. DescribeLogDirs shows how far it is; to ask for the directory
  where the replica is ends it.
- For a replica that is not here the directory is remembered, for the case that it comes, and answered
  REPLICA_NOT_AVAILABLE; UNKNOWN_TOPIC_OR_PARTITION where nobody has the partition.
- LOG_DIR_NOT_FOUND: no such directory. KAFKA_STORAGE_ERROR: that directory, or the replica's, has failed; or
  any has, and a copy would have to be made, as one may be there. INVALID_TOPIC_EXCEPTION: the name of the
  topic is too long for that of a copy.
- A partition that is named in two directories goes to the last of them.

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
    """Begin, redirect and end moves."""
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
