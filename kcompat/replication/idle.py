"""Followers that have all there is of a partition: what a fetch finds there, again and again.

A follower asks with each fetch for all partitions that it follows from a leader, and nearly always nothing
has happened in nearly all of them. So a fetch of a session keeps what it found where a follower was in sync
and at the log end, for as long as nothing there is another; then nothing has to be looked up, and of the
follower nothing is news but the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.replication.leader import Leader

if TYPE_CHECKING:
    from kcompat.replication.isr import IsrState
    from kcompat.replication.partition import Partition
    from kcompat.replication.reading import Fetched, FetchSpec, Reader
    from kcompat.replication.remote_replica import RemoteReplica


class Idle(Struct, frozen=True):
    """What a fetch found in a partition for a follower that has everything."""

    spec: FetchSpec
    broker_epoch: int
    leader: Leader
    state: IsrState
    remote: RemoteReplica
    fetched: Fetched

    def lasts(self, partition: Partition, spec: FetchSpec, reader: Reader) -> bool:
        """Whether the same is asked, and would be found. Each election has a `Leader` of its own, and each
        change of the ISR a state.
        """
        log, leader, fetched = partition.log, self.leader, self.fetched
        return (
            spec is self.spec
            and partition.state is leader
            and leader.state is self.state
            and log.log_end_offset == spec.offset
            and leader.high_watermark == fetched.high_watermark
            and log.log_start_offset == fetched.log_start_offset
            and reader.replica_id == self.remote.id
            and reader.broker_epoch == self.broker_epoch == self.remote.broker_epoch
            and not log.is_failed
        )

    def note(self, now_ms: int) -> None:
        """The follower has fetched again."""
        spec = self.spec
        self.remote.fetched(spec.offset, spec.log_start_offset, spec.offset, now_ms, self.broker_epoch)


def idle(partition: Partition, spec: FetchSpec, reader: Reader, fetched: Fetched) -> Idle | None:
    """What to keep of what was found; None where there is more, or the follower brings news."""
    leader = partition.state
    if fetched.ends_wait or len(fetched.records) or not isinstance(leader, Leader):
        return None
    remote = leader.remotes.get(reader.replica_id)
    if (
        remote is None
        or reader.replica_id not in leader.state.isr
        or not spec.offset == remote.log_end_offset == partition.log.log_end_offset
        or remote.log_start_offset != spec.log_start_offset
    ):
        return None
    return Idle(spec, reader.broker_epoch, leader, leader.state, remote, fetched)
