"""The leader of a partition, without its log: which replicas are in sync, and how much is committed. Pure.

The high watermark is the smallest log end over the maximal ISR, the replicas in sync or about to be. It never
falls, and does not rise while fewer are in sync than `min.insync.replicas` asks for (KIP-966). Kafka's
counterpart: the leader's half of `Partition`.
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
"""Errors of the controller after which its ISR is still the one that this leader knows."""

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
"""Errors of the controller after which a newer role is on its way to this broker."""

FETCH_GRACE_MS: Final = 1000
"""Time that a follower may take from the answer to a fetch to its next fetch."""


class IsrRule(Struct, frozen=True):
    """The condition of being in sync: not more than `max_lag_ms` behind, on a broker that is alive."""

    max_lag_ms: int
    """Longest time without being caught up: `replica.lag.time.max.ms`."""
    is_alive: Callable[[int], bool]
    """Returns whether the broker of this id is known to be up."""
    max_fetch_wait_ms: int
    """`replica.fetch.wait.max.ms`: longest wait of a follower's fetch at its leader."""
    session_timeout_ms: int
    """`zookeeper.session.timeout.ms`: another leader is elected when the session of a leader has ended."""


class Leader:
    """Leader of one partition for one leader epoch; offsets as in the log."""

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
        """A new leader: its epoch begins at the end of its log.

        `previous` is the state of this broker in an older epoch, if it was the leader. Its knowledge of
        followers counts only if no epoch lies between: in such an epoch they may have followed another leader
        and have been truncated.
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
        """Recompute the replicas that the high watermark waits for."""
        maximal = self.state.maximal
        self.has_quorum = len(self.state.isr) >= self._needed
        self._advances_alone = self.has_quorum and not self.remotes
        self._waits_for = tuple(remote for remote in self.remotes.values() if remote.id in maximal)
        self._others = tuple(remote for remote in self.remotes.values() if remote.id not in maximal)

    @property
    def _needed(self) -> int:
        """`min.insync.replicas`, but at most the number of replicas."""
        return min(self._min_insync_replicas, len(self._replicas))

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Apply a changed `min.insync.replicas`."""
        self._min_insync_replicas = min_insync_replicas
        self._arrange()

    # -- the high watermark ------------------------------------------------------------------------------

    def advance(self, log_end_offset: int, now_ms: int) -> bool:
        """Note the end of the leader's own log, as far as followers may read it; return whether the high
        watermark rose.

        It waits for the replicas in sync, and for a while for those that may soon be: they would never come
        into sync if it ran ahead of them.
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
        """Return whether everything below `required_offset` is on every replica in sync.

        NONE or an error is final; None means "not yet".
        """
        if self.high_watermark < required_offset:
            return None
        is_enough = len(self.state.maximal) >= self._needed
        return ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    @property
    def knows_latest_offset(self) -> bool:
        """Whether the high watermark has reached the start of this epoch.

        Before that, it may be behind the one that an earlier leader has sent (KIP-207).
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
        """Note a follower's fetch; `log_end_offset` is the end of this log before it was read.

        Returns True if the follower has advanced or gone back, so that the high watermark may move.
        """
        remote = self.remotes[replica]
        before = remote.log_end_offset
        remote.fetched(offset, log_start_offset, log_end_offset, now_ms, broker_epoch)
        return before != offset

    def refusal(self, replica: int, broker_epoch: int, known_epoch: int) -> ErrorCode:
        """Return the error for a broker that may not follow this leader; NONE if it may.

        Either this leader knows of no replica there, though a newer role may be on its way; or the broker has
        fetched since under another registration, and this fetch is of its former one (KIP-903).
        """
        remote = self.remotes.get(replica)
        if remote is None and known_epoch != NO_EPOCH:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if remote is None or -1 < broker_epoch < remote.broker_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def ask_followers(self) -> dict[int, int]:
        """Return the number of fetches by which each follower in sync, or about to be, confirms this leader.

        Another leader would be one of them, and a replica that fetches here knows of no other leader.
        """
        return {remote.id: remote.await_answer() for remote in self._waits_for}

    def is_followed(self, awaited: Mapping[int, int]) -> bool:
        """Return whether each follower in `awaited` that can still be elected has fetched so often."""
        return all(remote.fetches >= awaited[remote.id] for remote in self._waits_for if remote.id in awaited)

    def is_followed_lately(self, now_ms: int) -> bool:
        """Return whether each in-sync follower, or follower about to be, has fetched recently.

        Another leader would be one of them, and would no longer fetch here. A leader that is cut off has to
        notice before it is replaced, which takes at least two thirds of its session timeout. Half of that
        timeout is therefore the limit of any configured wait.
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
        """Return the ISR to propose after a fetch of `replica`, if that brought it into sync.

        The replica must have reached the high watermark and the start of this epoch: between the two there
        may be records that an earlier leader has committed.
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
        """Return the ISR to propose without the replicas that have fallen behind, if there are any."""
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
        """Take over an ISR that the controller stored.

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
        """Handle an ISR that the controller did not store; return whether it has to be proposed again.

        If the controller has newer state, the change stays pending until the next role arrives.
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
