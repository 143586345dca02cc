"""A classic group with the methods of `Group`, restored from its record in the log.

Kafka's counterpart: `ClassicGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.operation import Answer
from kcompat.group.events import Change, Why
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.members import NO_TIMESTAMP, ClassicMember, ClassicMembers, ClassicState
from kcompat.group.requests import (
    UNKNOWN_MEMBER,
    DescribedGroup,
    DescribedMember,
    JoinAnswer,
    ListedGroup,
    SyncAnswer,
)
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.offsets import CommittedOffset
    from kcompat.group.requests import CommitRequest
    from kcompat.protocol.messages.group_records import GroupMetadataValue


CLASSIC = "classic"


_LOADED: Final = Why(Change.UPDATE, "the group was loaded and has no leader, or too many members")


class ClassicGroup(ClassicMembers):
    """A classic group, or a group that only holds the offsets of consumers that assign themselves partitions.

    `Group` documents the methods that all kinds have. `stored` is the last record of the group in the log;
    only replay sets it.
    """

    def __init__(self, group_id: str, now_ms: int = NO_TIMESTAMP) -> None:
        super().__init__(group_id, now_ms)
        self.stored: GroupMetadataValue | None = None

    # --- the log

    def replay(self, value: GroupMetadataValue | None) -> None:
        """Apply the group's record, which includes the assignments of its members, or its tombstone."""
        self.stored = value
        for stored in value.members if value is not None else ():
            member = self.members.get(stored.member_id)
            if member is not None:
                member.assignment = stored.assignment

    @property
    def is_stored(self) -> bool:
        return self.stored is not None

    def loaded(self, transition: GroupTransition) -> None:
        """Start the members' sessions (`Group.loaded`).

        A group that exceeds a lowered size limit has to join again. So does a group that was converted from a
        consumer group before its partitions were assigned, because it has no leader.
        """
        if self.stored is not None:
            restore(self, self.stored)
        for member in self.members.values():
            rebalance.keep_alive(transition, self, member)
        is_unled = bool(self.members) and self.stored is not None and self.stored.leader is None
        if is_unled or len(self.members) > transition.shard.config.max_size:
            rebalance.prepare(transition, self, _LOADED)

    def unloaded(self) -> list[Answer]:
        answers: list[Answer] = []
        for member in self.members.values():
            if (join := self.take_join(member)) is not None:
                answers.append(Answer(join, JoinAnswer(ErrorCode.NOT_COORDINATOR, member.member_id)))
            if (sync := member.take_sync()) is not None:
                answers.append(Answer(sync, SyncAnswer(ErrorCode.NOT_COORDINATOR)))
        self.state = ClassicState.DEAD
        return answers

    # --- offsets

    def commit_error(self, request: CommitRequest) -> ErrorCode:
        """Return the error of a commit (`Group.commit_error`).

        Only members of the generation may commit, and any client if the group is empty.
        """
        if request.generation < 0 and self.is_in(ClassicState.EMPTY):
            return ErrorCode.NONE  # an administrator, or a consumer that does without group management
        names_member = request.member_id != UNKNOWN_MEMBER or request.instance_id is not None
        if request.generation < 0 and not names_member:
            # Before KIP-447 producers named no member, in any state of the group.
            return ErrorCode.NONE if request.is_transactional else ErrorCode.UNKNOWN_MEMBER_ID
        error = self.member_error(request.member_id, request.instance_id)
        if error != ErrorCode.NONE:
            return error
        if request.generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if self.is_in(ClassicState.COMPLETING_REBALANCE) and not request.is_transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def judge_of_partitions(self, _request: CommitRequest) -> None:
        """Return None (`Group.judge_of_partitions`): a member of the generation may commit any partition."""

    def fetch_error(self, _member_id: str | None, _member_epoch: int) -> ErrorCode:
        """Return NONE (`Group.fetch_error`): any client may fetch offsets of a classic group."""
        return ErrorCode.NONE

    def keep_alive(self, transition: GroupTransition, member_id: str) -> None:
        """Restart the member's session (`Group.keep_alive`): a commit counts as a heartbeat."""
        member = self.members.get(member_id)
        if member is not None:
            rebalance.keep_alive(transition, self, member)

    def is_static(self, member_id: str) -> bool:
        member = self.members.get(member_id)
        return member is not None and member.is_static

    def delete_offsets_error(self) -> ErrorCode:
        """Return the error of a deletion (`Group.delete_offsets_error`), unless subscriptions are known
        (KIP-496).
        """
        may = self.is_in(ClassicState.EMPTY) or self.is_consumer_group
        return ErrorCode.NONE if may else ErrorCode.NON_EMPTY_GROUP

    def subscribes_to(self, topic: str) -> bool:
        if self.is_in(ClassicState.EMPTY):
            return False
        return self.subscribed is None or topic in self.subscribed

    def retention_start(self, committed: CommittedOffset) -> int | None:
        """Return the start of an offset's retention (`Group.retention_start`).

        Retention starts when the group became empty, if its record has that time. It starts with the commit
        if there never was a group (no protocol type), and in a stable group of consumers, which loses the
        offsets of topics that it no longer subscribes to (KIP-211).
        """
        if self.protocol_type is None:
            return committed.commit_timestamp
        if self.is_in(ClassicState.EMPTY):
            return self.state_timestamp if self.state_timestamp >= 0 else committed.commit_timestamp
        if self.is_in(ClassicState.STABLE) and self.is_consumer_group:
            return committed.commit_timestamp
        return None

    # --- removal

    @property
    def is_unused(self) -> bool:
        return self.is_in(ClassicState.EMPTY) and not self.pending_members

    @property
    def gives_way(self) -> bool:
        return self.delete_error() == ErrorCode.NONE

    def delete_error(self) -> ErrorCode:
        return ErrorCode.NONE if self.is_in(ClassicState.EMPTY) else ErrorCode.NON_EMPTY_GROUP

    def write_tombstones(self, transition: GroupTransition) -> None:
        for member_id in sorted(self.pending_members):
            rebalance.remove_pending(transition, self, member_id)
        if self.stored is not None:
            transition.write(GroupMetadataKey(group=self.group_id), None)

    # --- descriptions

    def described(self) -> DescribedGroup:
        """Describe the group (`Group.described`); protocol and metadata are included only in a settled
        generation.
        """
        stable = self.is_in(ClassicState.STABLE)
        protocol = (self.protocol_name or "") if stable else ""
        members = tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(protocol) if stable else b"",
                member.assignment,
            )
            for member in self.members.values()
        )
        return DescribedGroup(
            self.group_id,
            state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol=protocol,
            members=members,
        )

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, CLASSIC)


def find(transition: GroupTransition, group_id: str) -> ClassicGroup | None:
    """Return the classic group with this id; None if there is none or the group is of another kind."""
    group = transition.shard.groups.get(group_id)
    return group if isinstance(group, ClassicGroup) else None


def restore(group: ClassicMembers, value: GroupMetadataValue) -> None:
    """Fill a newly loaded group from its record: a group with members is stable, one without is empty.

    The record has only the chosen one of a member's protocols. A member that supports more appears changed
    when it joins again, and so causes a rebalance.
    """
    assert not group.members
    group.generation = value.generation
    group.state_timestamp = value.current_state_timestamp
    group.protocol_name = value.protocol
    for stored in value.members:
        rebalance_timeout = stored.rebalance_timeout
        group.add(
            ClassicMember(
                stored.member_id,
                stored.group_instance_id,
                stored.client_id,
                stored.client_host,
                # Version 0 of the record has no rebalance timeout; the session timeout served as both.
                rebalance_timeout if rebalance_timeout >= 0 else stored.session_timeout,
                stored.session_timeout,
                value.protocol_type,
                ((value.protocol or "", stored.subscription),),
                stored.assignment,
            )
        )
    group.protocol_type = value.protocol_type or None
    group.leader = value.leader if value.leader in group.members else group.leader
    group.state = ClassicState.STABLE if group.members else ClassicState.EMPTY
    group.subscribed = group.compute_subscribed()
