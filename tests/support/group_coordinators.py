"""A group coordinator on virtual time with its log in memory, and requests of classic and consumer groups."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.coordinator.operation import CoordinatorRecord, Writer
from kcompat.group.base import Group
from kcompat.group.coordinator import GroupCoordinator
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.requests import ConsumerHeartbeatRequest
from kcompat.group.kinds.table import CONSUMER_KIND
from kcompat.group.ports import GroupPorts
from kcompat.group.requests import (
    CommitRequest,
    FetchingMember,
    JoinRequest,
    MemberIdentity,
    OffsetToCommit,
    SyncRequest,
)
from kcompat.group.serde import GROUP_SERDE
from kcompat.notices.notices import Notices
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.share.ends import End
from support.coordinator_log import MemoryCoordinatorLog
from support.coordinator_state import kept_of_groups, replayed_groups
from support.default_settings import with_defaults
from support.share_coordinators import ShareCoordinatorFixture
from support.verifiers import Trusting
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.group.commits import Errors
    from kcompat.group.kinds.streams.internal_topics import MakeTopics
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from kcompat.group.requests import FetchedOffset, JoinAnswer, LeaveAnswer, SyncAnswer
    from kcompat.group.shard import GroupShard
    from kcompat.records.control import EndTransactionMarker
    from kcompat.share.persister import Persister

G = TypeVar("G", bound=Group)

PARTITIONS = 3
GROUP = "group"
REBALANCE_MS = 60_000
SESSION_MS = 45_000
LEADS = PartitionInfo(leader=1, leader_epoch=0, isr=(1,), replicas=(1,))


def topic_id(name: str) -> bytes:
    """The id of a topic of this name."""
    return name.encode().ljust(16, b".")


class KnownEnds:
    """The ends of partitions, as a test says."""

    def __init__(self) -> None:
        self.offset = 10
        self.error = ErrorCode.NONE

    def of(self, _topic: str, _index: int) -> Promise[End]:
        """Return the end of any partition."""
        return Promise.resolved(End(self.error, self.offset))


class GroupFixture:
    """One broker's group coordinator. Member ids end in 1, 2, 3, ... in the order they are handed out."""

    def __init__(
        self,
        config: GroupCoordinatorConfig | None = None,
        share_state: Persister | None = None,
        ends: KnownEnds | None = None,
        make_topics: MakeTopics = lambda _: Promise(),
    ) -> None:
        self.clock = VirtualClock()
        self.log = MemoryCoordinatorLog()
        self.config = config or with_defaults(GroupCoordinatorConfig)
        self.verifier = Trusting()
        self._ids = count(1)
        self.image = ClusterImage("cluster")
        self.partition_count = PARTITIONS
        """Number of partitions of the offsets topic that the coordinator sees."""
        self.epoch = 0
        self.ends = ends or KnownEnds()
        self._share_state = share_state or ShareCoordinatorFixture().coordinator
        self._make_topics = make_topics
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
            GroupPorts(
                lambda: self.partition_count,
                lambda: str(next(self._ids)),
                self.verifier,
                lambda: self.image,
                self._share_state,
                self.ends,
                self._make_topics,
                Notices(VirtualClock()),
            ),
        )
        for partition in range(PARTITIONS):
            self.coordinator.load(partition, self.epoch)
        return self.coordinator

    @property
    def shards(self) -> list[GroupShard]:
        """The loaded shards."""
        return [shard for _, shard in self.coordinator.runtime.active()]

    def group_in_memory(self, kind: type[G], group_id: str = GROUP) -> G:
        """Return a group from the coordinator's memory, which must be of this kind."""
        group = next(shard.groups[group_id] for shard in self.shards if group_id in shard.groups)
        assert isinstance(group, kind)
        return group

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
        pairs = tuple((assignments or {}).items())
        request = SyncRequest(
            group_id, generation, member_id, instance_id, protocol_type, protocol_name, pairs
        )
        return self.coordinator.sync(request)

    def heartbeat(
        self, member_id: str, generation: int, *, group_id: str = GROUP, instance_id: str | None = None
    ) -> ErrorCode:
        return self.coordinator.heartbeat(group_id, MemberIdentity(member_id, instance_id), generation)

    def leave(self, *members: str | MemberIdentity, group_id: str = GROUP) -> Promise[LeaveAnswer]:
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


class ConsumerGroupFixture(GroupFixture):
    """One broker's group coordinator, with the two topics `t` and `u`."""

    def __init__(self, config: GroupCoordinatorConfig | None = None, **ports: Any) -> None:
        super().__init__(config, **ports)
        self.image = ClusterImage("cluster", brokers={1: BrokerInfo(1, None, {})})
        self.make("t", 3)
        self.make("u", 2)
        self.members: dict[str, dict[bytes, frozenset[int]]] = {}
        """Partitions of each member, by the last answer to it."""
        self.epochs: dict[str, int] = {}

    def make(self, name: str, partitions: int) -> None:
        """Make a topic, or let one grow."""
        topic = TopicImage(name, topic_id(name), dict.fromkeys(range(partitions), LEADS))
        self.show(self.image.with_topics([topic]))

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.show(self.image.with_topics([], [name]))

    def show(self, image: ClusterImage) -> None:
        """Have the coordinator hear of another picture of the cluster."""
        old, self.image = self.image, image
        if len(image.topics) > len(old.topics):
            self.coordinator.topics_made()

    def ask_beat(self, member_id: str, epoch: int = 0, **fields: Any) -> Promise[HeartbeatAnswer]:
        """Send ConsumerGroupHeartbeat and return the promise of its answer."""
        return self.coordinator.modern_heartbeat(
            CONSUMER_KIND,
            ConsumerHeartbeatRequest(
                **{
                    "group_id": GROUP,
                    "member_id": member_id,
                    "member_epoch": epoch,
                    "client_id": "client",
                    "client_host": "/127.0.0.1",
                    "may_describe": lambda _topic: True,
                    **fields,
                }
            ),
        )

    def beat(self, member_id: str, epoch: int | None = None, **fields: Any) -> HeartbeatAnswer:
        """ConsumerGroupHeartbeat, answered at once.

        A member goes on in the epoch it was told last; it is remembered what it is told.
        """
        told = self.epochs.get(member_id, 0) if epoch is None else epoch
        answer = self.ask_beat(member_id, told, **fields).value
        if not answer.error and answer.member_id is not None:
            self.epochs[answer.member_id] = max(answer.member_epoch, 0)
            if answer.assigned is not None:
                self.members[answer.member_id] = {
                    topic: frozenset(indexes) for topic, indexes in answer.assigned.items()
                }
        return answer

    def enter(self, member_id: str, topics: str = "t", **fields: Any) -> HeartbeatAnswer:
        """Join with all that a member has to say; `topics` are letters."""
        return self.beat(
            member_id,
            0,
            **{
                "rebalance_timeout_ms": REBALANCE_MS,
                "subscribed_topics": frozenset(topics),
                "owned": {},
                **fields,
            },
        )

    def report(self, member_id: str, **fields: Any) -> HeartbeatAnswer:
        """Heartbeat with what the member owns: all that it was told to."""
        return self.beat(member_id, owned=self.members.get(member_id, {}), **fields)

    def settle(self, *member_ids: str, rounds: int = 4) -> None:
        """Let the members heartbeat until each has its target."""
        for _ in range(rounds):
            for member_id in member_ids:
                self.report(member_id)

    def owned(self, member_id: str) -> dict[str, list[int]]:
        """Return the partitions of a member by the names of topics, from the last answer to it."""
        names = {topic.topic_id: name for name, topic in self.image.topics.items()}
        return {names[topic]: sorted(indexes) for topic, indexes in self.members[member_id].items()}

    def consumers(self, group_id: str = GROUP) -> ConsumerGroup:
        """Return the consumer group from the coordinator's memory."""
        return self.group_in_memory(ConsumerGroup, group_id)

    def classic(self) -> ClassicGroup:
        """Return the classic group from the coordinator's memory."""
        return self.group_in_memory(ClassicGroup)

    def either(self) -> ClassicGroup | ConsumerGroup | None:
        """Return the group of whichever of both kinds it is at present; None if there is none."""
        group = next((shard.groups[GROUP] for shard in self.shards if GROUP in shard.groups), None)
        assert group is None or isinstance(group, (ClassicGroup, ConsumerGroup))
        return group
