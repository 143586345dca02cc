"""A leader's record of one of its followers (Kafka's `Replica`). Pure."""

from __future__ import annotations

from msgspec import Struct

from kcompat.protocol.constants import NO_EPOCH, UNKNOWN_OFFSET


class RemoteReplica(Struct):
    """State of a follower as derived from its fetches; times in ms since the epoch, 0 for "never"."""

    id: int
    log_end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    last_fetch_ms: int = 0
    last_fetch_leader_end: int = UNKNOWN_OFFSET
    """End offset of the leader's log at the time of the follower's last fetch."""
    last_caught_up_ms: int = 0
    """Time in ms at which the follower last had all records."""
    broker_epoch: int = NO_EPOCH
    """Broker epoch of the registration under which the follower fetched (KIP-903)."""
    fetches: int = 0
    """Number of fetches by the follower."""
    awaited: int = 0
    """Number of fetches at which the follower has confirmed the leader for a pending check."""

    @property
    def is_awaited(self) -> bool:
        """Whether the follower's fetch has to be answered at once, so that it fetches again."""
        return self.fetches < self.awaited

    def await_answer(self) -> int:
        """Return the number of fetches at which the follower has confirmed that it still follows this leader.

        The next fetch may already have been sent; the fetch after it is sent when the next one is answered.
        """
        self.awaited = self.fetches + 2
        return self.awaited

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        """Return whether the follower has all records, or had all of them at most `max_lag_ms` ago."""
        return self.log_end_offset == leader_end or now_ms - self.last_caught_up_ms <= max_lag_ms

    def fetched(
        self, offset: int, log_start_offset: int, leader_end: int, now_ms: int, broker_epoch: int
    ) -> None:
        """Record a fetch from `offset`, while the leader's log ended at `leader_end` before the read.

        A follower of a busy leader never fetches from the log end. It counts as caught up at its previous
        fetch if it now has all records that the leader had then.
        """
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.last_fetch_ms = now_ms
        self.last_fetch_leader_end = max(self.last_fetch_leader_end, leader_end)
        self.broker_epoch = broker_epoch
        self.fetches += 1

    def at_election(self, now_ms: int, is_in_sync: bool) -> RemoteReplica:
        """Return the state of a follower for a newly elected leader, which knows only the ISR."""
        return RemoteReplica(self.id, last_caught_up_ms=now_ms if is_in_sync else 0)

    def at_reelection(self, now_ms: int, is_in_sync: bool, epoch_start_offset: int) -> RemoteReplica:
        """Return the state of a follower for a leader that continues in another epoch: its fetch offsets
        remain valid.

        A replica that is not in sync has to fetch before it counts as caught up.
        """
        since = now_ms if is_in_sync else 0
        return RemoteReplica(
            self.id,
            self.log_end_offset,
            self.log_start_offset,
            last_fetch_ms=since,
            last_fetch_leader_end=epoch_start_offset,
            last_caught_up_ms=since,
            broker_epoch=self.broker_epoch,
        )
