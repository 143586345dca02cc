"""The group coordinator: one method for each API, executed on the shard that owns the group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.coordinator.operation import Writer
from kcompat.coordinator.partitioning import partition_for
from kcompat.coordinator.runtime import Runtime
from kcompat.coordinator.transition import Transition
from kcompat.group import commits, describe, removal
from kcompat.group.errors import commit_error, group_error, modern_error
from kcompat.group.events import Change, GroupEvents, Why
from kcompat.group.expected import ExpectedMembers
from kcompat.group.kinds.share import administration
from kcompat.group.kinds.share.groups import ShareGroups
from kcompat.group.kinds.streams.internal_topics import InternalTopics
from kcompat.group.mixed import by_kind
from kcompat.group.modern.heartbeat import JOIN
from kcompat.group.presence import Presence, session_key
from kcompat.group.requests import DescribedGroup, FetchAnswer, JoinAnswer, LeaveAnswer, SyncAnswer
from kcompat.group.serde import GROUP_SERDE
from kcompat.group.shard import GroupShard
from kcompat.log.append import BY_COORDINATOR, UNVERIFIED, AppendTerms
from kcompat.log.verification import VerificationGuard
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from collections.abc import Set as AbstractSet

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.ports import Claim, CoordinatorLog
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.group.base import GroupTransition, ShardGroups
    from kcompat.group.commits import Errors
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.modern.kind import A, D, ModernKind, Q
    from kcompat.group.ports import GroupPorts
    from kcompat.group.requests import (
        CommitRequest,
        FetchingMember,
        JoinRequest,
        ListedGroup,
        MemberIdentity,
        SyncRequest,
    )
    from kcompat.net.answers import Connection
    from kcompat.topics import TopicPartition

T = TypeVar("T")

WITHOUT_CONNECTION: Final = 2 / 5
"""Fraction of its session that a member keeps after its connection has ended.

Kafka's documentation asks for a heartbeat in each third of the session (`heartbeat.interval.ms`); the
remaining time is for a new connection.
"""


class GroupCoordinator:
    """The groups of every kind that one broker coordinates.

    `load` adds a partition of `__consumer_offsets` with its groups, `unload` removes it.
    """

    def __init__(
        self, log: CoordinatorLog, clock: Clock, config: GroupCoordinatorConfig, ports: GroupPorts
    ) -> None:
        self.config = config
        self._log = log
        self._clock = clock
        self._ports = ports
        self._expected = ExpectedMembers()
        self._events = GroupEvents(ports.notices)
        self._presence = Presence(self._hurry)
        self.runtime: Runtime[GroupShard] = Runtime(
            log,
            GROUP_SERDE,
            clock,
            self._make_shard,
            config.commit_timeout_ms,
            in_bulk=lambda shard: shard.replay_in_bulk,
        )
        self._expiry: Timer | None = None
        self.share = ShareGroups(self, ports.share_state, ports.ends, ports.image, clock)
        self.internal_topics = InternalTopics(ports.make_topics, clock)

    def _make_shard(self, _partition: int, timers: KeyedTimers) -> GroupShard:
        ports = self._ports
        return GroupShard(timers, self.config, ports.new_uuid, ports.image, self._expected, self._events)

    # --- start, stop and loading

    def start(self) -> None:
        """Start the periodic deletion of expired offsets, every `offsets.retention.check.interval.ms`."""
        self._expiry = self._clock.call_later(self.config.retention_check_interval_ms, self._expire_again)

    def stop(self) -> None:
        """Answer NOT_COORDINATOR to all waiting and all later requests."""
        if self._expiry is not None:
            self._expiry.cancel()
        self.runtime.close()

    def load(self, partition: int, leader_epoch: int) -> None:
        """Load a partition of `__consumer_offsets` that this broker leads."""
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        """Unload a partition of `__consumer_offsets` that this broker no longer leads.

        `leader_epoch` is None if the partition was deleted.
        """
        self.runtime.unload(partition, leader_epoch)

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that keeps the group."""
        return partition_for(group_id, self._ports.partition_count())

    # --- the APIs

    def note_find_coordinator(self, connection: Connection, group_id: str) -> None:
        """Record a FindCoordinator request for the group: its client usually joins the group next."""
        self._expected.note_find_coordinator(connection, group_id, self._clock.now_ms())

    def note_request(self, connection: Connection, group_id: str, member_id: str) -> None:
        """Record that a member of any kind of group has sent a request on a connection.

        If the connection ends, the member has two fifths of its session to send a request on another one.
        """
        self._presence.note_request(connection, group_id, member_id)

    def _hurry(self, group_id: str, member_id: str) -> None:
        def query(shard: GroupShard, _now_ms: int) -> ErrorCode:
            group = shard.groups.get(group_id)
            if group is not None and not group.is_static(member_id):
                key = session_key(group_id, member_id)
                shard.timers.hurry(key, WITHOUT_CONNECTION, self._events.without_connection)
            return ErrorCode.NONE

        self.runtime.read(self.partition_of(group_id), query, _itself)

    def join(self, request: JoinRequest) -> Promise[JoinAnswer]:
        """Handle JoinGroup; the response follows when the group has formed its next generation."""

        def failed(error: ErrorCode) -> JoinAnswer:
            return JoinAnswer(group_error(error), member_id=request.member_id)

        if not request.group_id:
            return Promise.resolved(failed(ErrorCode.INVALID_GROUP_ID))
        return self.write(request.group_id, lambda transition: by_kind.join(transition, request), failed)

    def sync(self, request: SyncRequest) -> Promise[SyncAnswer]:
        """Handle SyncGroup; the response follows when the group's leader has assigned partitions."""

        def failed(error: ErrorCode) -> SyncAnswer:
            if error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # The current generation was lost with the old coordinator, so the member has to join again.
                # REBALANCE_IN_PROGRESS makes it join here; clients do not expect COORDINATOR_LOAD_IN_PROGRESS
                # in SyncGroup.
                return SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
            return SyncAnswer(group_error(error))

        if not request.group_id:
            return Promise.resolved(failed(ErrorCode.INVALID_GROUP_ID))
        return self.write(request.group_id, lambda transition: by_kind.sync(transition, request), failed)

    def heartbeat(self, group_id: str, member: MemberIdentity, generation: int) -> ErrorCode:
        """Handle Heartbeat. While the group is still being loaded the result is NONE."""

        def query(shard: GroupShard, now_ms: int) -> ErrorCode:
            transition: GroupTransition = Transition(shard, now_ms)  # a heartbeat writes no records
            return by_kind.heartbeat(transition, group_id, member, generation)

        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        error = self.runtime.read(self.partition_of(group_id), query, _itself)
        return ErrorCode.NONE if error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error

    def leave(self, group_id: str, members: tuple[MemberIdentity, ...]) -> Promise[LeaveAnswer]:
        """Handle LeaveGroup for one or more members."""

        def failed(error: ErrorCode) -> LeaveAnswer:
            return LeaveAnswer(group_error(error))

        if not group_id:
            return Promise.resolved(failed(ErrorCode.INVALID_GROUP_ID))
        return self.write(group_id, lambda transition: by_kind.leave(transition, group_id, members), failed)

    def commit(self, request: CommitRequest) -> Promise[Errors]:
        """Handle OffsetCommit; return the error of each partition."""
        return self.write(
            request.group_id,
            lambda transition: commits.commit(transition, request),
            partial(_refuse_commit, request),
        )

    def commit_in_transaction(self, request: CommitRequest, claim: Claim) -> Promise[Errors]:
        """Handle TxnOffsetCommit; return the error of each partition.

        The transaction has to contain the group's partition of `__consumer_offsets`.
        """
        if not request.group_id:
            return Promise.resolved(_refuse_commit(request, ErrorCode.INVALID_GROUP_ID))
        partition = self.partition_of(request.group_id)
        if not self._ports.verifier.is_required and not claim.adds:
            return self._commit_on_terms(partition, request, claim, UNVERIFIED)
        proof = self._log.begin_verification(
            partition, claim.producer_id, claim.epoch, self._clock.now_ms(), adds=claim.adds
        )
        if isinstance(proof, VerificationGuard):
            verified = self._ports.verifier.ask(claim, [(self._log.topic, partition)])
            return verified.flat_map(partial(self._commit_verified, partition, request, claim, proof))
        if proof:
            return Promise.resolved(_refuse_commit(request, proof))
        return self._commit_on_terms(partition, request, claim, BY_COORDINATOR)

    def _commit_verified(
        self,
        partition: int,
        request: CommitRequest,
        claim: Claim,
        proof: VerificationGuard,
        errors: Errors,
    ) -> Promise[Errors]:
        error = errors.get((self._log.topic, partition), ErrorCode.NONE)
        if error:
            return Promise.resolved(_refuse_commit(request, error))
        return self._commit_on_terms(partition, request, claim, AppendTerms(is_client=False, proof=proof))

    def _commit_on_terms(
        self, partition: int, request: CommitRequest, claim: Claim, terms: AppendTerms
    ) -> Promise[Errors]:
        return self.runtime.run(
            partition,
            lambda transition: commits.commit(transition, request),
            partial(_refuse_commit, request),
            Writer(claim.producer_id, claim.epoch, terms),
        )

    def fetch(
        self, asker: FetchingMember, partitions: Iterable[TopicPartition] | None, require_stable: bool
    ) -> Promise[FetchAnswer]:
        """Handle OffsetFetch of one group; `partitions` None means every partition that has an offset.

        With `require_stable` the response waits until it is certain that no other coordinator has newer
        offsets: a transaction that starts from old offsets would process records twice.
        """
        partition = self.partition_of(asker.group_id)

        def query(shard: GroupShard, _now_ms: int) -> FetchAnswer:
            return commits.fetch(shard, asker, partitions, require_stable)

        if require_stable:
            return self.runtime.read_latest(partition, query, FetchAnswer)
        return Promise.resolved(self.runtime.read(partition, query, FetchAnswer))

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> Promise[tuple[ErrorCode, Errors]]:
        """Handle OffsetDelete; return the error of the whole request, and of each partition."""

        def failed(error: ErrorCode) -> tuple[ErrorCode, Errors]:
            return group_error(error), {}

        if not group_id:
            return Promise.resolved(failed(ErrorCode.INVALID_GROUP_ID))
        return self.write(
            group_id, lambda transition: commits.delete(transition, group_id, partitions), failed
        )

    def describe(self, group_id: str) -> DescribedGroup:
        """Handle DescribeGroups for one group. An unknown group has the error GROUP_ID_NOT_FOUND and the
        state Dead.
        """
        return self.runtime.read(
            self.partition_of(group_id),
            lambda shard, _: describe.describe(shard, group_id),
            lambda error: DescribedGroup(group_id, error),
        )

    def list_groups(
        self, states: AbstractSet[str], types: AbstractSet[str]
    ) -> tuple[ErrorCode, list[ListedGroup]]:
        """Handle ListGroups for the groups of this broker; `states` and `types` are filters in lower case."""
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.runtime.is_loading else ErrorCode.NONE
        shards = (shard for _, shard in self.runtime.active())
        return error, [group for shard in shards for group in describe.list_groups(shard, states, types)]

    def delete(self, group_id: str) -> Promise[ErrorCode]:
        """Handle DeleteGroups for one group; the state of its share partitions is deleted first."""

        def forgotten(error: ErrorCode) -> Promise[ErrorCode]:
            if error:
                return Promise.resolved(error)
            return self.write(
                group_id, lambda transition: removal.delete_group(transition, group_id), group_error
            )

        return self.share.forget_before_deletion(group_id).flat_map(forgotten)

    def serves(self, kind: str) -> bool:
        """Return whether the configuration enables groups of this kind."""
        return kind in self.config.rebalance_protocols

    def modern_heartbeat(self, kind: ModernKind[Q, A, D], request: Q) -> Promise[A]:
        """Handle ConsumerGroupHeartbeat, ShareGroupHeartbeat or StreamsGroupHeartbeat."""

        def failed(error: ErrorCode) -> A:
            return kind.refused(modern_error(error), None)

        refusal = kind.request_refusal(request, self.config)
        if refusal is not None:
            return Promise.resolved(kind.refused(refusal.error, refusal.message))
        if request.member_epoch <= JOIN:
            is_join = request.member_epoch == JOIN
            change, what = (Change.JOIN, "joined") if is_join else (Change.DEPARTURE, "left")
            why = Why(change, f"member {request.member_id} {what}")
            self._events.rebalances(request.group_id, why)
        return self.write(request.group_id, lambda transition: kind.heartbeat(transition, request), failed)

    def describe_modern(self, kind: ModernKind[Q, A, D], group_id: str) -> D:
        """Handle ConsumerGroupDescribe, ShareGroupDescribe or StreamsGroupDescribe of one group."""
        return self.read(
            group_id,
            lambda shard: kind.describe(shard, group_id),
            lambda error: kind.undescribed(group_id, error, None),
        )

    def topics_made(self) -> None:
        """Record that topics were created, so that groups match their topic patterns again."""
        now_ms = self._clock.now_ms()
        for _, shard in self.runtime.active():
            shard.topics_made_ms = now_ms

    def forget_topics(self, gone: Callable[[TopicPartition], bool]) -> None:
        """Delete the offsets of partitions that no longer exist."""
        for partition in self._active_partitions():
            self._forget(partition, lambda transition: removal.forget_topics(transition, gone))

    def forget_share_partitions(self, topic_ids: Collection[bytes]) -> None:
        """Delete the share partitions of topics that no longer exist, in every share group."""
        self.runtime.run_everywhere(lambda transition: administration.forget_topics(transition, topic_ids))

    def expire_offsets(self) -> Promise[list[None]]:
        """Delete the offsets whose retention is over, and empty groups without offsets."""
        return self.runtime.repeat_everywhere(removal.expire)

    # --- operations on a group of any kind

    def write(
        self,
        group_id: str,
        decide: Callable[[GroupTransition], T | Promise[T]],
        failed: Callable[[ErrorCode], T],
    ) -> Promise[T]:
        """Run a writing operation on the shard of a group; `failed` converts an error of the runtime to a
        response.
        """
        return self.runtime.run(self.partition_of(group_id), decide, failed)

    def read(self, group_id: str, query: Callable[[ShardGroups], T], failed: Callable[[ErrorCode], T]) -> T:
        """Run a query on the shard of a group at once; `failed` converts an error of the runtime to a
        response.
        """
        return self.runtime.read(self.partition_of(group_id), lambda shard, _: query(shard), failed)

    # --- internal

    def _active_partitions(self) -> list[int]:
        return [partition for partition, _ in self.runtime.active()]

    def _expire_again(self) -> None:
        self.start()
        self.expire_offsets()

    def _forget(self, partition: int, decide: Callable[[GroupTransition], list[removal.Doomed]]) -> None:
        def again(left: list[removal.Doomed]) -> None:
            if left:
                self._forget(partition, lambda transition: removal.forget(transition, left))

        self.runtime.run(partition, decide, _deletion_failed).then(again)


def _itself(error: ErrorCode) -> ErrorCode:
    return error


def _deletion_failed(_error: ErrorCode) -> list[removal.Doomed]:
    """Ignore a failed deletion: as in Kafka, the offsets then remain until their retention ends."""
    return []


def _refuse_commit(request: CommitRequest, error: ErrorCode) -> Errors:
    return commits.every(request.offsets, commit_error(error))
