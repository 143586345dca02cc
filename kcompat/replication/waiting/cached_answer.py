"""Readers that have all there is of a partition: what a fetch finds there, again and again.

A follower asks with each fetch for all partitions that it follows from a leader, a consumer for all that it
has, and nearly always nothing has happened in nearly all of them. So a fetch of a session keeps what it found
where there was nothing to read, for as long as nothing there is another; then nothing has to be looked up,
and of a follower nothing is news but the time.
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
    from kcompat.replication.reading import Fetched, FetchSpec, Reader


class Idle(Struct, frozen=True):
    """What a fetch found in a partition for a consumer that has everything it may read."""

    spec: FetchSpec
    isolation_level: int
    leader: Leader
    fetched: Fetched

    def lasts(self, partition: Partition, spec: FetchSpec, reader: Reader) -> bool:
        """Whether the same is asked, and would be found. Each election has a `Leader` of its own, and where
        high watermark and log start stay the last stable offset does.
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


class IdleFollower(Idle, frozen=True):
    """What a fetch found in a partition for a follower that has everything."""

    broker_epoch: int
    state: IsrState
    remote: RemoteReplica

    def lasts(self, partition: Partition, spec: FetchSpec, reader: Reader) -> bool:
        """See `Idle`. Each change of the ISR has a state of its own."""
        return (
            Idle.lasts(self, partition, spec, reader)
            and self.leader.state is self.state
            and partition.log.log_end_offset == spec.offset
            and reader.replica_id == self.remote.id
            and reader.broker_epoch == self.broker_epoch == self.remote.broker_epoch
            and not self.remote.is_awaited
        )

    def note(self, now_ms: int) -> None:
        """The follower has fetched again."""
        spec = self.spec
        self.remote.fetched(spec.offset, spec.log_start_offset, spec.offset, now_ms, self.broker_epoch)


def idle(partition: Partition, spec: FetchSpec, reader: Reader, fetched: Fetched) -> Idle | None:
    """What to keep of what was found; None where there is more, or the reader brings news."""
    leader = partition.state
    if fetched.ends_wait or len(fetched.records) or not isinstance(leader, Leader):
        return None
    if reader.is_replica:
        return _of_follower(partition, spec, reader, fetched, leader)
    committed_only = reader.isolation_level == READ_COMMITTED
    end = fetched.last_stable_offset if committed_only else fetched.high_watermark
    return Idle(spec, reader.isolation_level, leader, fetched) if spec.offset >= end else None


def _of_follower(
    partition: Partition, spec: FetchSpec, reader: Reader, fetched: Fetched, leader: Leader
) -> IdleFollower | None:
    remote = leader.remotes.get(reader.replica_id)
    if (
        remote is None
        or reader.replica_id not in leader.state.isr
        or not spec.offset == remote.log_end_offset == partition.log.log_end_offset
        or remote.log_start_offset != spec.log_start_offset
    ):
        return None
    return IdleFollower(
        spec, reader.isolation_level, leader, fetched, reader.broker_epoch, leader.state, remote
    )
