"""The target assignment of a share group, made anew when the group has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.assignors.spec import GroupSpec, MemberSpec
from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.settings import ASSIGNOR
from kcompat.group.modern.target import assign, may_assign_again, news
from kcompat.group.modern.topics import existing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.share.group import ShareGroup
    from kcompat.group.kinds.share.member import ShareMember


def next_target(
    turn: GroupTurn, group: ShareGroup, group_epoch: int, member: ShareMember, interval_ms: int
) -> tuple[int, Mapping[bytes, frozenset[int]]]:
    """The epoch of the newest target assignment and the target in it of the member, as it is from now on.

    One that is out of date is made anew, though not before it has lasted `interval_ms`.
    """
    is_due = may_assign_again(group.header, interval_ms, turn.now_ms)
    if group.assignment_epoch >= group_epoch or not is_due:
        return group.assignment_epoch, group.target(member.member_id)
    members = {**dict(group.members.items()), member.member_id: member}
    assigned = assign(ASSIGNOR, _spec(group, members, turn.shard.image()))
    for member_id, target in news(group.targets, assigned):
        RECORDS.write_target(turn, group.group_id, member_id, target)
    RECORDS.write_target_epoch(turn, group.group_id, group_epoch, turn.now_ms)
    return group_epoch, assigned[member.member_id]


def _spec(group: ShareGroup, members: Mapping[str, ShareMember], image: ClusterImage) -> GroupSpec:
    """Return the assignor's input: only share partitions with state are assigned."""
    counts: dict[bytes, int] = {}
    specs = {}
    for member_id, member in members.items():
        topics = list(existing(image, member.subscribed_topics))
        counts.update((topic.topic_id, len(topic.partitions)) for topic in topics)
        topic_ids = frozenset(topic.topic_id for topic in topics)
        specs[member_id] = MemberSpec(topic_ids, group.target(member_id))
    assignable = {topic_id: row.partitions for topic_id, row in group.initialization.initialized.items()}
    is_homogeneous = len({spec.topics for spec in specs.values()}) == 1
    return GroupSpec(specs, counts, is_homogeneous, assignable)


def is_incomplete(group: ShareGroup, image: ClusterImage) -> bool:
    """Whether other share partitions have state by now than the members are to have, taken together (Kafka's
    `initializedAssignmentPending`). No assignment has those of a topic that does not exist any more.
    """
    if not len(group.members):
        return False
    assigned: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, indexes in target.items():
            assigned.setdefault(topic_id, set()).update(indexes)
    return any(
        assigned.get(topic_id, set()) != row.partitions
        for topic_id, row in group.initialization.initialized.items()
        if row.name in group.subscribers and image.topic_by_id(topic_id) is not None
    )
