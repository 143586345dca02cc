"""DescribeLogDirs (key 35), versions 0-5: the log directories, and the size of each partition's log.

Behaviour
- A replica that moves is shown in two directories: in the present one, and as a future replica in the new
  one, with the lag of its copy. A log that is not a replica of this broker, because the replica was
  reassigned while the broker was down, has the lag -1.

Version notes
- 2: flexible. 3: a top-level error. 4: total and usable bytes of the volume (KIP-827). 5: cordoned
  directories (KIP-1066); no directory is cordoned.
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
    from kcompat.log.log import Log
    from kcompat.log.manager import LogDirectory

DirectoryAnswer = DescribeLogDirsResponse.DescribeLogDirsResult
TopicAnswer = DescribeLogDirsResponse.DescribeLogDirsTopic
PartitionAnswer = DescribeLogDirsResponse.DescribeLogDirsPartition

UNKNOWN_LAG = -1


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
        results=[
            _describe(context, directory, wanted) for directory in context.services.storage.logs.directories
        ]
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
        topic.partitions.append(_describe_log(context, log))
    answer.topics = list(topics.values())
    return answer


def _describe_log(context: RequestContext, log: Log) -> PartitionAnswer:
    partition = context.services.storage.replicas.get(log.topic, log.partition)
    is_future = context.services.storage.logs.futures.get(log.topic, log.partition) is log
    if partition is None or partition.log.is_failed:
        lag = UNKNOWN_LAG
    elif is_future:
        lag = partition.log.log_end_offset - log.log_end_offset
    else:
        lag = max(0, partition.high_watermark - log.log_end_offset)
    return PartitionAnswer(log.partition, log.size, lag, is_future)
