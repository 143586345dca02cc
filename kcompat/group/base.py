"""The interface of every kind of group, on which offsets, removal and descriptions depend.

Kafka's counterpart: the interface `Group`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kcompat.cluster.image import ClusterImage
    from kcompat.coordinator.operation import Answer
    from kcompat.coordinator.timeline import Timeline
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.coordinator.transition import Transition
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.events import GroupEvents
    from kcompat.group.expected import ExpectedMembers
    from kcompat.group.modern.heartbeat import Refusal
    from kcompat.group.modern.topics import TopicHashes
    from kcompat.group.offsets import CommittedOffset, GroupOffsets
    from kcompat.group.requests import CommitRequest, DescribedGroup, ListedGroup
    from kcompat.protocol.errors import ErrorCode

    GroupTransition = Transition["ShardGroups"]
    PartitionJudge = Callable[[str, bytes, int], ErrorCode]
    """Returns the error of a commit for one partition, given the topic's name and id and the partition's
    index.
    """


class Group(Protocol):
    """A group of any kind. Methods that end in `_error` return NONE if the action is allowed."""

    @property
    def is_unused(self) -> bool:
        """Whether the group has no members and no assigned member ids whose clients may still join."""

    @property
    def is_stored(self) -> bool:
        """Whether the log has a record of the group itself, in addition to records of its offsets."""

    @property
    def gives_way(self) -> bool:
        """Whether a group of another kind may replace this one."""

    def commit_error(self, request: CommitRequest) -> ErrorCode:
        """Return the error for a client that may not commit offsets of the group."""

    def judge_of_partitions(self, request: CommitRequest) -> PartitionJudge | None:
        """Return a function that checks each partition of a commit that `commit_error` allows.

        None, the usual result, allows all partitions.
        """

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error for a client that may not fetch offsets of the group (KIP-848).

        `member_id` is None if the client does not name a member.
        """

    def keep_alive(self, transition: GroupTransition, member_id: str) -> None:
        """Restart the session of this member, if it exists, in kinds of groups in which a commit counts as a
        heartbeat.
        """

    def is_static(self, member_id: str) -> bool:
        """Return whether this member exists and has an instance id, so that it may be absent for its whole
        session (KIP-345).
        """

    def delete_offsets_error(self) -> ErrorCode:
        """Return the error for a client that may not delete offsets of the group.

        `subscribes_to` protects the offsets of single topics.
        """

    def subscribes_to(self, topic: str) -> bool:
        """Return whether members of the group consume the topic; True if that is unknown."""

    def retention_start(self, committed: CommittedOffset) -> int | None:
        """Return the time in ms at which the retention of an offset begins; None while the offset must be
        kept.
        """

    def delete_error(self) -> ErrorCode:
        """Return the error for a client that may not delete the group."""

    def write_tombstones(self, transition: GroupTransition) -> None:
        """Write the tombstones of the group's own records, and drop the member ids that were assigned to
        clients.
        """

    def described(self) -> DescribedGroup:
        """Return the group as DescribeGroups shows it."""

    def listed(self) -> ListedGroup:
        """Return the group as ListGroups shows it."""

    def loaded(self, transition: GroupTransition) -> None:
        """Start the members' sessions after all records have been replayed. No record is written."""

    def unloaded(self) -> list[Answer]:
        """Return the responses to the requests parked in the group, after the group was unloaded from this
        broker.
        """

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""


class Conversions(NamedTuple):
    """Conversions of a group with members to another kind: functions of `kcompat.group.mixed`."""

    upgrade: Callable[[GroupTransition, Group], Group | Refusal]
    """`upgrade(transition, group)` converts a classic group to a consumer group, or returns the reason for
    refusal.
    """
    downgrade: Callable[[GroupTransition, str, Collection[str]], bool]
    """`downgrade(transition, group_id, leaving)` converts a consumer group that these members leave to a
    classic group; False if the group is not converted.
    """


class ShardGroups(Protocol):
    """The groups of one partition of `__consumer_offsets`, with the parts of their shard that
    operations use.
    """

    groups: dict[str, Group]
    offsets: dict[str, GroupOffsets]
    timers: KeyedTimers
    config: GroupCoordinatorConfig
    new_uuid: Callable[[], str]
    image: Callable[[], ClusterImage]
    """Returns the current metadata image."""
    expected: ExpectedMembers
    events: GroupEvents
    hashes: TopicHashes
    topics_made_ms: int
    """Time in ms at which the latest topics were created; the time of loading if no topic was
    created since.
    """
    conversions: Conversions
    timeline: Timeline
    """Uncommitted changes of the shard."""

    def create_simple(self, group_id: str, now_ms: int) -> Group:
        """Return a new group without members, which holds offsets. No record of the group itself is
        written.
        """

    def forget_if_vacant(self, group_id: str) -> bool:
        """Drop a group that has no members, no assigned member ids, no record and no offsets."""
