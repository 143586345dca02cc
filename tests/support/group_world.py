"""A group coordinator on virtual time with its log in memory, and short ways to ask it things."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from kcompat.cluster.image import ClusterImage
from kcompat.coordinator.operation import CoordinatorRecord, Writer
from kcompat.group.coordinator import GroupCoordinator
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.requests import (
    CommitRequest,
    FetchingMember,
    JoinRequest,
    MemberIdentity,
    OffsetToCommit,
    SyncRequest,
)
from kcompat.group.serde import GROUP_SERDE
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.coordinator_log import MemoryCoordinatorLog
from support.coordinator_state import kept_of_groups, replayed_groups
from support.verifiers import Trusting
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.group.commits import Errors
    from kcompat.group.requests import FetchedOffset, JoinAnswer, LeaveAnswer, SyncAnswer
    from kcompat.group.shard import GroupShard
    from kcompat.promise import Promise
    from kcompat.records.control import EndTransactionMarker

PARTITIONS = 3
GROUP = "group"


class GroupWorld:
    """One broker's group coordinator. Member ids end in 1, 2, 3, ... in the order they are handed out."""

    def __init__(self, config: GroupCoordinatorConfig | None = None) -> None:
        self.clock = VirtualClock()
        self.log = MemoryCoordinatorLog()
        self.config = config or GroupCoordinatorConfig()
        self.verifier = Trusting()
        self._ids = count(1)
        self.image = ClusterImage("cluster")
        self.partition_count = PARTITIONS
        """What the coordinator is told of them."""
        self.epoch = 0
        self.coordinator = self.restart()

    def restart(self) -> GroupCoordinator:
        """Lose everything but the log, and load it."""
        if self.epoch:
            self.coordinator.stop()
        self.epoch += 1
        self.coordinator = GroupCoordinator(
            self.log,
            self.clock,
            self.config,
            lambda: self.partition_count,
            lambda: str(next(self._ids)),
            self.verifier,
            lambda: self.image,
        )
        for partition in range(PARTITIONS):
            self.coordinator.load(partition, self.epoch)
        return self.coordinator

    @property
    def shards(self) -> list[GroupShard]:
        """The loaded shards."""
        return [shard for _, shard in self.coordinator.runtime.active()]

    def group(self, group_id: str = GROUP) -> ClassicGroup | None:
        """The group as it is in memory."""
        group = next((shard.groups[group_id] for shard in self.shards if group_id in shard.groups), None)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = GROUP,
        client_id: str = "client",
        instance_id: str | None = None,
        protocols: tuple[tuple[str, bytes], ...] = (("range", b"meta"),),
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 60_000,
        needs_member_id: bool = False,
        can_skip_assignment: bool = True,
    ) -> Promise[JoinAnswer]:
        """JoinGroup."""
        return self.coordinator.join(
            JoinRequest(
                group_id,
                member_id,
                client_id,
                "/127.0.0.1",
                session_timeout_ms,
                rebalance_timeout_ms,
                protocol_type,
                protocols,
                instance_id,
                needs_member_id,
                can_skip_assignment,
            )
        )

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        group_id: str = GROUP,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Promise[SyncAnswer]:
        """SyncGroup."""
        pairs = tuple((assignments or {}).items())
        request = SyncRequest(
            group_id, generation, member_id, instance_id, protocol_type, protocol_name, pairs
        )
        return self.coordinator.sync(request)

    def heartbeat(
        self, member_id: str, generation: int, *, group_id: str = GROUP, instance_id: str | None = None
    ) -> ErrorCode:
        """Heartbeat."""
        return self.coordinator.heartbeat(group_id, MemberIdentity(member_id, instance_id), generation)

    def leave(self, *members: str | MemberIdentity, group_id: str = GROUP) -> Promise[LeaveAnswer]:
        """LeaveGroup."""
        leaving = tuple(MemberIdentity(m) if isinstance(m, str) else m for m in members)
        return self.coordinator.leave(group_id, leaving)

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        *,
        group_id: str = GROUP,
        metadata: str | None = "",
        retention_ms: int = -1,
        timestamp: int = -1,
    ) -> Promise[Errors]:
        """OffsetCommit."""
        rows = tuple(
            OffsetToCommit(topic, index, offset, metadata=metadata, commit_timestamp=timestamp)
            for (topic, index), offset in offsets.items()
        )
        request = CommitRequest(group_id, rows, member_id, generation, retention_ms=retention_ms)
        return self.coordinator.commit(request)

    def stage(self, producer_id: int, offsets: dict[tuple[str, int], int], *, group_id: str = GROUP) -> None:
        """Find commits of an open transaction in the log when it is loaded: the coordinator restarts."""
        now_ms = self.clock.now_ms()
        records = [
            CoordinatorRecord(
                OffsetCommitKey(group=group_id, topic=topic, partition=index),
                OffsetCommitValue(offset=offset, metadata="", commit_timestamp=now_ms),
            )
            for (topic, index), offset in offsets.items()
        ]
        batch = build_batch(
            [Record(0, now_ms, *GROUP_SERDE.serialize(record)) for record in records],
            producer_id=producer_id,
            producer_epoch=0,
            transactional=True,
        )
        error, _ = self.log.append(self.coordinator.partition_of(group_id), batch, now_ms)
        assert error == ErrorCode.NONE
        self.restart()

    def end_transaction(
        self, producer_id: int, marker: EndTransactionMarker, *, group_id: str = GROUP
    ) -> Promise[ErrorCode]:
        """The marker of a transaction comes to the partition of a group."""
        partition = self.coordinator.partition_of(group_id)
        return self.coordinator.runtime.end_transaction(partition, Writer(producer_id, 0), marker)

    def fetch(self, *, group_id: str = GROUP, require_stable: bool = False) -> dict[tuple[str, int], int]:
        """OffsetFetch of all partitions, offsets alone."""
        fetched = self.coordinator.fetch(FetchingMember(group_id), None, require_stable).value.offsets
        return {partition: row.offset for partition, row in fetched.items()}

    def fetch_one(
        self, partition: tuple[str, int], *, group_id: str = GROUP, require_stable: bool = False
    ) -> FetchedOffset:
        """OffsetFetch of one partition."""
        fetched = self.coordinator.fetch(FetchingMember(group_id), [partition], require_stable).value
        return fetched.offsets[partition]

    def stable(self, *client_ids: str, group_id: str = GROUP, session_timeout_ms: int = 10_000) -> list[str]:
        """Bring new members to Stable, each assigned `for <member id>`; the first one leads."""
        joins = [
            self.join(client_id=client_id, group_id=group_id, session_timeout_ms=session_timeout_ms)
            for client_id in client_ids
        ]
        first = joins[0].value.member_id
        if len(joins) > 1:
            joins[0] = self.join(first, group_id=group_id, session_timeout_ms=session_timeout_ms)
        members = [join.value.member_id for join in joins]
        generation = joins[0].value.generation
        assignments = {member_id: f"for {member_id}".encode() for member_id in members}
        for member_id in reversed(members):
            self.sync(member_id, generation, assignments if member_id == first else None, group_id=group_id)
        return members

    def describe_state(self, group_id: str = GROUP) -> str:
        """The state that DescribeGroups shows."""
        return self.coordinator.describe(group_id).state

    def check_invariants(self) -> None:
        """Assert what must always hold."""
        for shard in self.shards:
            shard.check_invariants()

    def check_replay(self) -> None:
        """Assert that whoever loads the log has what the coordinator has."""
        for partition, live in self.coordinator.runtime.active():
            replayed = replayed_groups(self.log, self.config, partition, self.image)
            assert kept_of_groups(replayed) == kept_of_groups(live)
