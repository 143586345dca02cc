"""This broker's partitions as coordinators write and read them.

`TopicLog` is the log of a coordinator, kept in one internal topic: the coordinator appends a batch, waits
until it is committed, and reads the log of a partition that it loads
(`kcompat.coordinator.ports.CoordinatorLog`).
`PartitionMarkerLog` takes the markers of transactions, for partitions of any topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.append import BY_COORDINATOR, AppendTerms
from kcompat.log.producers import NO_SEQUENCE
from kcompat.promise import Promise
from kcompat.protocol.constants import ACKS_ALL
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.replication.leading.leader import Leader
from kcompat.replication.partition import Partition
from kcompat.replication.waiting.delayed_progress import DelayedProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from kcompat.log.verification import VerificationGuard
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.topics import TopicPartition


class TopicLog:
    """Partitions of one internal topic on this broker, by index; callers have to limit their waits."""

    def __init__(self, replicas: ReplicaManager, topic: str) -> None:
        self._replicas = replicas
        self.topic = topic

    def on_leadership(
        self, load: Callable[[int, int], object], unload: Callable[[int, int | None], object]
    ) -> None:
        """Call `load(partition, leader_epoch)` when this broker becomes the leader of a partition.

        Call `unload(partition, leader_epoch)` when this broker stops leading the partition. The epoch is None
        if the partition was deleted: a partition of the same name may begin at epoch 0 again.
        """

        def follow(partition: Partition) -> None:
            role = partition.role
            if partition.is_leader:
                load(partition.index, role.leader_epoch)
            else:
                unload(partition.index, role.leader_epoch if role.replicas else None)

        self._replicas.on_leadership(self.topic, follow)

    def begin_verification(
        self, partition: int, producer_id: int, epoch: int, now_ms: int, *, adds: bool
    ) -> VerificationGuard | ErrorCode:
        """Begin to verify that a partition is in a transaction (`Partition.begin_verification`), for records
        of a coordinator, which have no sequence numbers.
        """
        found = self._replicas.get(self.topic, partition)
        if found is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return found.begin_verification(producer_id, epoch, NO_SEQUENCE, now_ms, adds=adds)

    def append(
        self, partition: int, batch: bytearray, now_ms: int, terms: AppendTerms = BY_COORDINATOR
    ) -> tuple[ErrorCode, int]:
        """Append one batch with acks=all; return NONE and its last offset, or an error and -1."""
        found = self._replicas.get(self.topic, partition)
        if found is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        view = memoryview(batch)
        header = read_header(view)
        if header.size > found.log.config.max_message_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        result = found.append(view, header, ACKS_ALL, now_ms, terms)
        if isinstance(result, ErrorCode):
            return result, -1
        return result.error, result.last_offset

    def when_committed(self, partition: int, offset: int) -> Promise[ErrorCode]:
        """Promise NONE once the high watermark is above `offset`, or the error that prevents it."""
        found = self._replicas.get(self.topic, partition)
        if found is None:
            return Promise.resolved(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        now = found.committed(offset + 1)
        if now is not None:
            return Promise.resolved(now)
        errors: list[ErrorCode] = []
        commit = DelayedProgress({found: offset + 1}, lambda _, error: errors.append(error), answer=errors)
        waiting = self._replicas.produces.wait(commit, (found,), timeout_ms=None)
        return waiting.promise.map(lambda errors: errors[0])

    def still_leads(self, partition: int, timeout_ms: float) -> Promise[ErrorCode]:
        """Promise NONE once it is certain that no other broker led the partition when this was called.

        The promise gives an error if this broker does not lead, or if this is not certain within
        `timeout_ms`. Without another in-sync replica it is certain at once. See `LeadershipCheck`.
        """
        found = self._replicas.get(self.topic, partition)
        leader = None if found is None else found.state
        if not isinstance(leader, Leader):
            return Promise.resolved(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        awaited = leader.ask_followers()
        if not awaited:
            return Promise.resolved(ErrorCode.NONE)
        waiting = self._replicas.leadership_checks.wait(
            LeadershipCheck(leader, awaited), (found,), timeout_ms
        )
        self._replicas.replica_fetches.wake(found)
        return waiting.promise

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Return the log's bytes from the batch that contains `offset`; empty at the log end.

        The first batch is whole, even above `max_bytes`; the last may be truncated. Raises StorageError.
        """
        found = self._replicas.get(self.topic, partition)
        if found is None or offset >= found.log.log_end_offset:
            return b""
        log = found.log
        data = log.read(offset, max_bytes, log.log_end_offset, min_one_batch=True)
        with log.context.faults():
            return b"" if data is None else data.read()

    def delete_before(self, partition: int, offset: int) -> ErrorCode:
        """Delete the records below a committed offset, as DeleteRecords does."""
        found = self._replicas.get(self.topic, partition)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if found is None else found.delete_records_before(offset)[0]

    def start_offset(self, partition: int) -> int:
        """Return the log start offset; 0 if this broker has no replica."""
        found = self._replicas.get(self.topic, partition)
        return 0 if found is None else found.log.log_start_offset

    def end_offset(self, partition: int) -> int:
        """Return the log end offset; 0 if this broker has no replica."""
        found = self._replicas.get(self.topic, partition)
        return 0 if found is None else found.log.log_end_offset


class LeadershipCheck:
    """Waiter until each in-sync follower has sent its number of fetches in `awaited`, by broker id.

    A leader that was cut off does not know that another one was elected. Records that it writes are not
    acknowledged, but a coordinator's memory may be out of date. Only an in-sync follower can have been
    elected. So the leader answers their waiting fetches at once, and each has to fetch again. Raft calls this
    a read index; Kafka's coordinators have no such check.
    """

    __slots__ = ("_awaited", "_leader")

    def __init__(self, leader: Leader, awaited: Mapping[int, int]) -> None:
        self._leader = leader
        self._awaited = awaited

    def try_complete(self, key: Hashable) -> ErrorCode | None:
        """Return NONE once all followers have fetched, NOT_LEADER_OR_FOLLOWER after the end of the epoch."""
        assert isinstance(key, Partition)
        if key.state is not self._leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if self._leader.is_followed(self._awaited) else None

    def expire(self) -> ErrorCode:
        """Return REQUEST_TIMED_OUT, because a follower did not fetch in time."""
        return ErrorCode.REQUEST_TIMED_OUT


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
