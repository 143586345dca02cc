"""The partitions of one broker with the methods that the writer of transaction markers needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.constants import ACKS_ALL
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.replication.waiting.delayed_progress import DelayedProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.append import AppendTerms
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.topics import TopicPartition


class PartitionMarkerLog:
    """The `kcompat.transaction.local_markers.MarkerLog` of this broker's partitions."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def can_write(self, partition: TopicPartition) -> bool:
        found = self._replicas.get(*partition)
        return found is not None and not found.log.is_failed

    def append(
        self,
        partitions: Sequence[TopicPartition],
        batch: bytearray,
        terms: AppendTerms,
        now_ms: int,
        timeout_ms: int,
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        errors: dict[TopicPartition, ErrorCode] = {}
        waiting: dict[Partition, int] = {}
        for each in partitions:
            found = self._replicas.get(*each)
            if found is None or found.log.is_failed:
                errors[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            view = memoryview(bytearray(batch))  # the log writes offset and leader epoch into it
            result = found.append(view, read_header(view), ACKS_ALL, now_ms, terms)
            if isinstance(result, ErrorCode):
                errors[each] = result
                continue
            end = result.last_offset + 1
            error = result.error or found.committed(end)
            if error is None:
                waiting[found] = end
            else:
                errors[each] = error
        if not waiting:
            return Promise.resolved(errors)

        def note(partition: Partition, error: ErrorCode) -> None:
            errors[partition.topic, partition.index] = error

        commits = DelayedProgress(waiting, note, answer=errors)
        return self._replicas.produces.wait(commits, tuple(waiting), timeout_ms).promise
