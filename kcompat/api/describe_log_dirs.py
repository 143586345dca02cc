"""DescribeLogDirs (key 35), versions 0-5: the log directories, and how much of them each partition takes.

Version notes
- 2: flexible. 3: a top-level error. 4: total and usable bytes of the volume (KIP-827). 5: cordoned
  directories (KIP-1066; none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.errors import StorageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.log.manager import LogDirectory

DirectoryAnswer = DescribeLogDirsResponse.DescribeLogDirsResult
TopicAnswer = DescribeLogDirsResponse.DescribeLogDirsTopic
PartitionAnswer = DescribeLogDirsResponse.DescribeLogDirsPartition


def handle(context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Describe every directory; a null list of topics means all of them."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    wanted = (
        None
        if request.topics is None
        else {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    )
    return DescribeLogDirsResponse(
        results=[_describe(context, directory, wanted) for directory in context.services.logs.directories]
    )


def _describe(
    context: RequestContext, directory: LogDirectory, wanted: set[tuple[str, int]] | None
) -> DirectoryAnswer:
    failed = DirectoryAnswer(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    if directory.offline:
        return failed
    answer = DirectoryAnswer(log_dir=directory.path)
    try:
        answer.total_bytes, answer.usable_bytes = directory.volume_bytes()
    except StorageError:
        return failed
    topics: dict[str, TopicAnswer] = {}
    for log in directory.logs:
        if wanted is not None and (log.topic, log.partition) not in wanted:
            continue
        topic = topics.setdefault(log.topic, TopicAnswer(name=log.topic))
        partition = context.services.replicas.get(log.topic, log.partition)
        lag = 0 if partition is None else max(0, partition.high_watermark - log.log_end_offset)
        topic.partitions.append(PartitionAnswer(log.partition, log.size, lag))
    answer.topics = list(topics.values())
    return answer
