"""The leader's state of a partition, without the log: in-sync replicas, and the high watermark. Pure.

The high watermark is the smallest log end over the maximal ISR: the in-sync replicas and those about to be.
It never falls, and does not rise while fewer replicas are in sync than `min.insync.replicas` requires
(KIP-966). Kafka's counterpart: the leader's half of `Partition`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.isr import Committed, IsrState, Pending, PendingExpand, PendingShrink
from kcompat.replication.leading.remote_replica import RemoteReplica

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.cluster.control_requests import Role

NOT_APPLIED: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
"""Errors after which the controller's ISR is still the one that this leader knows."""

OVERTAKEN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""Errors that mean that the controller has sent this broker a newer role."""

FETCH_GRACE_MS: Final = 1000
"""Time in ms within which a follower is expected to fetch again after the response to its last fetch."""


class IsrRule(Struct, frozen=True):
    """Rule for being in sync: at most `max_lag_ms` behind, on a broker that is alive."""

    max_lag_ms: int
    """Maximum time in ms without being caught up (`replica.lag.time.max.ms`)."""
    is_alive: Callable[[int], bool]
    """Returns whether the broker with this id is registered and not presumed dead."""
    max_fetch_wait_ms: int
    """Maximum wait in ms of a follower's fetch at its leader (`replica.fetch.wait.max.ms`)."""
    session_timeout_ms: int
    """Session timeout in ms (`zookeeper.session.timeout.ms`): another leader is elected after the leader's
    session ends.
    """


class Leader:
    """Leader of one partition in one leader epoch; all offsets are offsets of the log."""

    __slots__ = (
        "_advances_alone",
        "_broker_id",
        "_min_insync_replicas",
        "_others",
        "_replicas",
        "_rule",
        "_waits_for",
        "epoch",
        "epoch_start_offset",
        "has_quorum",
        "high_watermark",
        "partition_epoch",
        "remotes",
        "state",
    )

    def __init__(
        self,
        broker_id: int,
        role: Role,
        rule: IsrRule,
        *,
        min_insync_replicas: int,
        log_end_offset: int,
        high_watermark: int,
        now_ms: int,
        previous: Leader | None = None,
    ) -> None:
        """Begin an epoch of this leader at the end of its log.

        `previous` is this broker's state in an older epoch, if it was the leader then. Its knowledge of
        followers is used only if no epoch lies between: in such an epoch they may have followed another
        leader and may have been truncated.
        """
        assert role.leader == broker_id, "a leader leads"
        self._broker_id = broker_id
        self._rule = rule
        self._replicas = role.replicas
        self._min_insync_replicas = min_insync_replicas
        self.epoch = role.leader_epoch
        self.partition_epoch = role.partition_epoch
        self.epoch_start_offset = log_end_offset
        self.high_watermark = high_watermark
        self.state: IsrState = Committed(role.isr)
        self.remotes: dict[int, RemoteReplica] = {
            replica: self._remote(replica, previous, now_ms)
            for replica in role.replicas
            if replica != broker_id
        }
        self.has_quorum = False
        """Whether enough replicas are in sync for acks=all."""
        self._advances_alone = False
        self._waits_for: tuple[RemoteReplica, ...] = ()
        self._others: tuple[RemoteReplica, ...] = ()
        self._arrange()

    def _remote(self, replica: int, previous: Leader | None, now_ms: int) -> RemoteReplica:
        is_in_sync = replica in self.state.isr
        if previous is None or previous.epoch + 1 < self.epoch:
            return RemoteReplica(replica).at_election(now_ms, is_in_sync)
        known = previous.remotes.get(replica, RemoteReplica(replica))
        return known.at_reelection(now_ms, is_in_sync, self.epoch_start_offset)

    def _arrange(self) -> None:
        """Recompute the set of replicas that the high watermark waits for."""
        maximal = self.state.maximal
        self.has_quorum = len(self.state.isr) >= self.min_isr
        self._advances_alone = self.has_quorum and not self.remotes
        self._waits_for = tuple(remote for remote in self.remotes.values() if remote.id in maximal)
        self._others = tuple(remote for remote in self.remotes.values() if remote.id not in maximal)

    @property
    def min_isr(self) -> int:
        """Size of the ISR that acks=all requires: `min.insync.replicas`, at most the number of replicas."""
        return min(self._min_insync_replicas, len(self._replicas))

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Apply a changed `min.insync.replicas`."""
        self._min_insync_replicas = min_insync_replicas
        self._arrange()

    # -- the high watermark ------------------------------------------------------------------------------

    def advance(self, log_end_offset: int, now_ms: int) -> bool:
        """Advance to the end of the leader's own log, as far as followers may read it; return whether the
        high watermark rose.

        The high watermark waits for the in-sync replicas, and for a limited time for replicas that may soon
        be in sync: they would never come into sync if it ran ahead of them.
        """
        if log_end_offset <= self.high_watermark:
            return False
        if self._advances_alone:
            self.high_watermark = log_end_offset
            return True
        if not self.has_quorum:
            return False
        candidate = log_end_offset
        for remote in self._waits_for:
            if remote.log_end_offset < candidate:
                candidate = remote.log_end_offset
        for remote in self._others:
            if remote.log_end_offset < candidate and self._may_soon_join(remote, log_end_offset, now_ms):
                candidate = remote.log_end_offset
        if candidate <= self.high_watermark:
            return False
        self.high_watermark = candidate
        return True

    def _may_soon_join(self, remote: RemoteReplica, log_end_offset: int, now_ms: int) -> bool:
        return remote.is_caught_up(log_end_offset, now_ms, self._rule.max_lag_ms) and self._rule.is_alive(
            remote.id
        )

    def committed(self, required_offset: int) -> ErrorCode | None:
        """Return whether all records below `required_offset` are on every in-sync replica.

        NONE or an error is final; None means "not yet".
        """
        if self.high_watermark < required_offset:
            return None
        is_enough = len(self.state.maximal) >= self.min_isr
        return ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    @property
    def knows_latest_offset(self) -> bool:
        """Whether the high watermark has reached the start of this epoch.

        Before that, it may be lower than one that an earlier leader has sent to clients (KIP-207).
        """
        return self.high_watermark >= self.epoch_start_offset

    # -- followers ---------------------------------------------------------------------------------------

    def fetched(
        self,
        replica: int,
        offset: int,
        log_start_offset: int,
        *,
        log_end_offset: int,
        now_ms: int,
        broker_epoch: int,
    ) -> bool:
        """Record a follower's fetch; `log_end_offset` is the end of this log before the read.

        Returns True if the follower has advanced or gone back, so that the high watermark may move.
        """
        remote = self.remotes[replica]
        before = remote.log_end_offset
        remote.fetched(offset, log_start_offset, log_end_offset, now_ms, broker_epoch)
        return before != offset

    def refusal(self, replica: int, broker_epoch: int, known_epoch: int) -> ErrorCode:
        """Return the error for a broker that may not fetch from this leader as a follower, else NONE.

        A broker is refused if this leader does not know it as a replica, although a newer role may be about
        to arrive, or if it has already fetched under a newer registration than that of this fetch (KIP-903).
        """
        remote = self.remotes.get(replica)
        if remote is None and known_epoch != NO_EPOCH:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if remote is None or -1 < broker_epoch < remote.broker_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def ask_followers(self) -> dict[int, int]:
        """Return, for each follower in the maximal ISR, the number of fetches that it has to reach to show
        that this broker still leads.

        Another leader could only be elected among these followers, and a follower that still fetches from
        this broker knows of no other leader.
        """
        return {remote.id: remote.await_answer() for remote in self._waits_for}

    def is_followed(self, awaited: Mapping[int, int]) -> bool:
        """Return whether each follower in `awaited` that can still be elected has reached its number of
        fetches.
        """
        return all(remote.fetches >= awaited[remote.id] for remote in self._waits_for if remote.id in awaited)

    def is_followed_lately(self, now_ms: int) -> bool:
        """Return whether each follower in sync or about to be has fetched recently.

        Another leader would be one of these followers, and would no longer fetch here. A leader that is cut
        off must detect this before it is replaced, which takes at least two thirds of its session timeout.
        Half of that timeout is therefore the limit of any configured wait.
        """
        rule = self._rule
        silence_ms = min(rule.max_fetch_wait_ms + FETCH_GRACE_MS, rule.session_timeout_ms // 2)
        return all(now_ms - remote.last_fetch_ms <= silence_ms for remote in self._waits_for)

    def low_watermark(self, log_start_offset: int) -> int:
        """Return the smallest log start over this replica and the replicas on living brokers."""
        for remote in self.remotes.values():
            if remote.log_start_offset < log_start_offset and self._rule.is_alive(remote.id):
                log_start_offset = remote.log_start_offset
        return log_start_offset

    # -- changes of the ISR ------------------------------------------------------------------------------

    def expand(self, replica: int) -> PendingExpand | None:
        """Return the ISR to propose after a fetch of `replica`; None unless the fetch brought the replica
        into sync.

        The replica must have reached both the high watermark and the start of this epoch: between the two
        there may be records that an earlier leader has committed.
        """
        state = self.state
        if not isinstance(state, Committed) or replica in state.isr:
            return None
        end = self.remotes[replica].log_end_offset
        if end < self.high_watermark or end < self.epoch_start_offset or not self._rule.is_alive(replica):
            return None
        pending = PendingExpand(state, replica, self._registrations())
        self._enter(pending)
        return pending

    def shrink(self, log_end_offset: int, now_ms: int) -> PendingShrink | None:
        """Return the ISR to propose without the replicas that have fallen behind; None if there are none."""
        state = self.state
        if not isinstance(state, Committed):
            return None
        leaving = tuple(
            member
            for member in state.isr
            if member != self._broker_id and not self._is_caught_up(member, log_end_offset, now_ms)
        )
        if not leaving:
            return None
        pending = PendingShrink(state, leaving, self._registrations())
        self._enter(pending)
        return pending

    def _registrations(self) -> dict[int, int]:
        return {remote.id: remote.broker_epoch for remote in self.remotes.values()}

    def _is_caught_up(self, member: int, log_end_offset: int, now_ms: int) -> bool:
        remote = self.remotes.get(member)
        return remote is not None and remote.is_caught_up(log_end_offset, now_ms, self._rule.max_lag_ms)

    def accepted(
        self, pending: Pending, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]
    ) -> bool:
        """Replace the ISR by the one that the controller stored.

        Returns False, and changes nothing, if this leader knows of a newer one.
        """
        is_news = (
            self.state is pending and leader_epoch == self.epoch and partition_epoch >= self.partition_epoch
        )
        if is_news:
            self.partition_epoch = partition_epoch
            self._enter(Committed(isr))
        return is_news

    def refused(self, pending: Pending, error: ErrorCode) -> bool:
        """Handle a proposal that the controller refused; return whether it has to be repeated.

        If the controller has a newer state, the change stays pending until the next role arrives.
        """
        if self.state is not pending or error in OVERTAKEN:
            return False
        if error in NOT_APPLIED:
            self._enter(pending.before)
            return False
        return True

    def _enter(self, state: IsrState) -> None:
        self.state = state
        self._arrange()

    def check_invariants(self, log_end_offset: int) -> None:
        """Assert that the high watermark lies in the log, and that it waits for every member of the ISR."""
        assert 0 <= self.high_watermark <= log_end_offset
        assert self.has_quorum or not self._advances_alone
        assert set(self.remotes) == set(self._replicas) - {self._broker_id}
        assert set(self.state.maximal) >= set(self.state.isr)
        waits_for = {remote.id for remote in self._waits_for}
        assert waits_for == set(self.state.maximal) & set(self.remotes)
        assert waits_for | {remote.id for remote in self._others} == set(self.remotes)
