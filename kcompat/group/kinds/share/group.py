"""A share group with the methods of `Group`.

Kafka's counterpart: `ShareGroup`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.group.kinds.share.members import ShareMembers
from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.requests import DescribedShareGroup, DescribedSharer
from kcompat.group.kinds.share.settings import ASSIGNOR
from kcompat.group.modern.expiry import expire
from kcompat.group.modern.group import find
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.modern.subscribed import count_topics
from kcompat.group.modern.topics import java_order
from kcompat.group.presence import session_key
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition, PartitionJudge, ShardGroups
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.share.members import ShareMember
    from kcompat.group.modern.heartbeat import Refusal
    from kcompat.group.offsets import CommittedOffset
    from kcompat.group.requests import CommitRequest


class ShareGroup(ShareMembers):
    """A share group; `Group` documents the methods that all kinds have.

    A share group has no committed offsets: the share coordinator stores its position in each partition.
    """

    # --- loading

    def loaded(self, transition: GroupTransition) -> None:
        for member_id in self.members.keys():  # noqa: SIM118
            keep_alive(transition, self.group_id, member_id)

    # --- offsets: a share group has none

    def commit_error(self, request: CommitRequest) -> ErrorCode:
        del request
        return ErrorCode.GROUP_ID_NOT_FOUND

    def judge_of_partitions(self, request: CommitRequest) -> PartitionJudge | None:
        del request
        return None

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        del member_id, member_epoch
        return ErrorCode.NONE

    def delete_offsets_error(self) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND

    def retention_start(self, committed: CommittedOffset) -> int | None:
        del committed
        return None

    # --- removal

    @property
    def is_unused(self) -> bool:
        """False (`Group.is_unused`) for a stored share group, which is kept until it is deleted."""
        return not self.is_stored

    @property
    def gives_way(self) -> bool:
        return False

    def write_tombstones(self, transition: GroupTransition) -> None:
        """Write the group's tombstones (`Group.write_tombstones`), after the share coordinator has deleted
        its state.
        """
        RECORDS.write_all_tombstones(transition, self.group_id)

    # --- descriptions

    def described_as_kind(self, _config: GroupCoordinatorConfig) -> DescribedShareGroup:
        """Describe the group as ShareGroupDescribe shows it."""
        header = self.committed_header
        return DescribedShareGroup(
            self.group_id,
            state=self.committed_state.value,
            group_epoch=header.group_epoch,
            assignment_epoch=header.assignment_epoch,
            assignor=ASSIGNOR.name,
            members=tuple(_described(member) for _, member in self.members.committed_items()),
        )


def find_or_make(shard: ShardGroups, group_id: str) -> ShareGroup | Refusal:
    """Return the share group with this id, or a new one if there is no group; the refusal for a group of
    another kind.

    A new group is added to the shard when its first records are replayed.
    """
    if shard.groups.get(group_id) is None:
        return ShareGroup(group_id, shard.timeline)
    return find(shard, group_id, ShareGroup)


def _described(member: ShareMember) -> DescribedSharer:
    return DescribedSharer(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topics=tuple(sorted(member.subscribed_topics, key=java_order)),
        assigned={topic_id: tuple(sorted(indexes)) for topic_id, indexes in member.assigned.items()},
    )


def fence(transition: GroupTransition, group: ShareMembers, member: ShareMember) -> None:
    """Remove a member, so that the group needs a new target assignment."""
    RECORDS.write_member_tombstones(transition, group.group_id, member.member_id)
    subscribers = Counter(group.subscribers)
    count_topics(subscribers, member.subscribed_topics, -1)
    metadata_hash = transition.shard.hashes.of(subscribers, transition.shard.image())
    RECORDS.write_epoch(transition, group.group_id, group.group_epoch + 1, metadata_hash)
    key = session_key(group.group_id, member.member_id)
    transition.once_appended(lambda transition: transition.shard.timers.cancel(key))


def keep_alive(transition: GroupTransition, group_id: str, member_id: str) -> None:
    """Restart the session of a member: it is removed unless it sends a heartbeat within its session
    timeout.
    """
    timeout_ms = settings_of(
        transition.shard.image(), transition.shard.config.share, group_id
    ).session_timeout_ms
    expire(transition, session_key(group_id, member_id), timeout_ms, ShareMembers, fence)
