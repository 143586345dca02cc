"""Cached answers of fetch sessions for partitions without new records.

Each fetch of a follower asks for all partitions that it follows from a leader, each fetch of a consumer for
all that it is assigned, and most of them have not changed. A session therefore keeps the answer for a
partition whose reader has everything, until the partition changes. Meanwhile the partition is not looked up,
and of a follower's fetch only the time is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.replication.leading.leader import Leader
from kcompat.replication.reading import READ_COMMITTED

if TYPE_CHECKING:
    from kcompat.replication.isr import IsrState
    from kcompat.replication.leading.remote_replica import RemoteReplica
    from kcompat.replication.partition import Partition
    from kcompat.replication.reading import Fetched, FetchSpec, PartitionReader


class CachedAnswer(Struct, frozen=True):
    """Response to the fetch of a consumer that has all records of a partition that it may read."""

    spec: FetchSpec
    isolation_level: int
    leader: Leader
    fetched: Fetched

    def lasts(self, partition: Partition, spec: FetchSpec, reader: PartitionReader) -> bool:
        """Return whether the request is the same and a new read would give the same response.

        It compares the `Leader`, since each election makes a new one. The last stable offset needs no
        comparison, since it moves only with the high watermark or the log start.
        """
        log, leader, fetched = partition.log, self.leader, self.fetched
        return (
            spec is self.spec
            and partition.state is leader
            and leader.high_watermark == fetched.high_watermark
            and log.log_start_offset == fetched.log_start_offset
            and reader.isolation_level == self.isolation_level
            and reader.choice is None
            and not log.is_failed
        )


class CachedFollowerAnswer(CachedAnswer, frozen=True):
    """Response to the fetch of a follower that has all records of a partition."""

    broker_epoch: int
    state: IsrState
    remote: RemoteReplica

    def lasts(self, partition: Partition, spec: FetchSpec, reader: PartitionReader) -> bool:
        """Return whether a new read would give the same response. Each ISR change makes a new state."""
        return (
            CachedAnswer.lasts(self, partition, spec, reader)
            and self.leader.state is self.state
            and partition.log.log_end_offset == spec.offset
            and reader.replica_id == self.remote.id
            and reader.broker_epoch == self.broker_epoch == self.remote.broker_epoch
            and not self.remote.is_awaited
        )

    def note(self, now_ms: int) -> None:
        """Record that the follower has fetched again."""
        spec = self.spec
        self.remote.fetched(spec.offset, spec.log_start_offset, spec.offset, now_ms, self.broker_epoch)


def cacheable(
    partition: Partition, spec: FetchSpec, reader: PartitionReader, fetched: Fetched
) -> CachedAnswer | None:
    """Return the response for the fetch session to keep.

    None if there are more records to read, or if the fetch of a follower has changed the leader's state.
    """
    leader = partition.state
    if fetched.ends_wait or len(fetched.records) or not isinstance(leader, Leader):
        return None
    if reader.is_replica:
        return _cacheable_for_follower(partition, spec, reader, fetched, leader)
    committed_only = reader.isolation_level == READ_COMMITTED
    end = fetched.last_stable_offset if committed_only else fetched.high_watermark
    return CachedAnswer(spec, reader.isolation_level, leader, fetched) if spec.offset >= end else None


def _cacheable_for_follower(
    partition: Partition, spec: FetchSpec, reader: PartitionReader, fetched: Fetched, leader: Leader
) -> CachedFollowerAnswer | None:
    remote = leader.remotes.get(reader.replica_id)
    if (
        remote is None
        or reader.replica_id not in leader.state.isr
        or not spec.offset == remote.log_end_offset == partition.log.log_end_offset
        or remote.log_start_offset != spec.log_start_offset
    ):
        return None
    return CachedFollowerAnswer(
        spec, reader.isolation_level, leader, fetched, reader.broker_epoch, leader.state, remote
    )
