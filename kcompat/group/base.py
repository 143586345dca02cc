"""The interface of every kind of group, so that offsets, removal and descriptions do not depend on the kinds.

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
    from kcompat.group.expected import ExpectedMembers
    from kcompat.group.modern.heartbeat import Refusal
    from kcompat.group.modern.topics import TopicHashes
    from kcompat.group.offsets import CommittedOffset, GroupOffsets
    from kcompat.group.requests import CommitRequest, DescribedGroup, ListedGroup
    from kcompat.protocol.errors import ErrorCode

    GroupTransition = Transition["Groups"]
    PartitionJudge = Callable[[str, bytes, int], ErrorCode]
    """Returns the error of committing a partition, by its topic's name and id and its index."""


class Group(Protocol):
    """A group of any kind. Methods that end in `_error` return NONE if the action is allowed."""

    @property
    def is_deserted(self) -> bool:
        """Whether the group has no members, and no assigned member ids whose clients may still join."""

    @property
    def is_stored(self) -> bool:
        """Whether the log has a record of the group itself, beside those of its offsets."""

    @property
    def gives_way(self) -> bool:
        """Whether a group of another kind may replace this one."""

    def commit_error(self, request: CommitRequest) -> ErrorCode:
        """Return the error of a client that may not commit offsets of the group."""

    def judge_of_partitions(self, request: CommitRequest) -> PartitionJudge | None:
        """Return a function that judges each partition of a commit which `commit_error` allows.

        None, the usual result, allows all partitions.
        """

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error of a client that may not fetch offsets of the group (KIP-848).

        The client need not name a member.
        """

    def keep_alive(self, transition: GroupTransition, member_id: str) -> None:
        """Take a commit of this member, if it exists, as a sign of life, in kinds where commits are one."""

    def is_static(self, member_id: str) -> bool:
        """Return whether this member exists and may be away for all of its session (KIP-345)."""

    def delete_offsets_error(self) -> ErrorCode:
        """Return the error of a client that may not delete offsets of the group.

        `subscribes_to` protects the offsets of single topics.
        """

    def subscribes_to(self, topic: str) -> bool:
        """Return whether members of the group consume the topic, or may do so if that is unknown."""

    def retention_start(self, committed: CommittedOffset) -> int | None:
        """Return the time in ms from which the retention of an offset counts; None while it must be kept."""

    def delete_error(self) -> ErrorCode:
        """Return the error of a client that may not delete the group."""

    def write_tombstones(self, transition: GroupTransition) -> None:
        """Write the tombstones of the group's own records, and forget the member ids handed out."""

    def described(self) -> DescribedGroup:
        """Return the group as DescribeGroups shows it."""

    def listed(self) -> ListedGroup:
        """Return the group as ListGroups shows it."""

    def loaded(self, transition: GroupTransition) -> None:
        """Begin the members' sessions after all records have been replayed; nothing is written."""

    def unloaded(self) -> list[Answer]:
        """Return the answers to the requests parked here, after the group has left this broker."""

    def check_invariants(self) -> None:
        """Assert what must always hold."""


class Conversions(NamedTuple):
    """The ways in which a group with members changes its kind: functions of `kcompat.group.mixed`."""

    upgrade: Callable[[GroupTransition, Group], Group | Refusal]
    """`upgrade(transition, group)` makes a consumer group of a classic one, or returns why it cannot."""
    downgrade: Callable[[GroupTransition, str, Collection[str]], bool]
    """`downgrade(transition, group_id, leaving)` makes a classic group of a consumer group that these members
    leave; False where the group stays what it is."""


class Groups(Protocol):
    """The groups of one partition of `__consumer_offsets`, as operations on them see their shard."""

    groups: dict[str, Group]
    offsets: dict[str, GroupOffsets]
    timers: KeyedTimers
    config: GroupCoordinatorConfig
    new_uuid: Callable[[], str]
    image: Callable[[], ClusterImage]
    """Returns the current metadata image."""
    expected: ExpectedMembers
    hashes: TopicHashes
    topics_made_ms: int
    """Time in ms at which the latest topics were made; if no topic was made since the shard was loaded, that
    time.
    """
    conversions: Conversions
    timeline: Timeline
    """The uncommitted changes of the shard."""

    def create_simple(self, group_id: str, now_ms: int) -> Group:
        """Return a new group without members, to hold offsets. No record of the group itself is written."""

    def forget_if_vacant(self, group_id: str) -> bool:
        """Drop a group that has no member, no assigned member id, no record and no offset."""
