"""The target assignment of a consumer group, made anew when the group has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.assignors.spec import GroupSpec, MemberSpec
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.kinds.consumer.settings import ASSIGNORS
from kcompat.group.kinds.consumer.subscriptions import topics_of
from kcompat.group.modern.target import assign, may_assign_again, news
from kcompat.group.modern.topics import existing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.roster import ConsumerRoster
    from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig


def next_target(
    turn: GroupTurn,
    group: ConsumerRoster,
    group_epoch: int,
    before: ConsumerMember,
    after: ConsumerMember,
    settings: ConsumerGroupConfig,
) -> tuple[int, Mapping[bytes, frozenset[int]]]:
    """The epoch of the newest target assignment and the target of the member, which is `after` from now on.

    A target assignment that is out of date is made anew, unless the last one is too young: then by a later
    heartbeat.
    """
    former = group.former(before)
    former_id = after.member_id if former is None else former.member_id
    if group.assignment_epoch >= group_epoch or not may_assign_again(
        group.header, settings.assignment_interval_ms, turn.now_ms
    ):
        return group.assignment_epoch, group.target(former_id)
    members = dict(group.members.latest)
    members.pop(former_id, None)
    members[after.member_id] = after
    targets = dict(group.targets.latest)
    if former_id in targets:
        targets[after.member_id] = targets.pop(former_id)
    spec = _spec(group, members, targets, turn.shard.image())
    name = group.preferred_assignor(former, after)
    assignor = ASSIGNORS[name if name in settings.assignors else settings.assignors[0]]
    assigned = assign(assignor, spec)
    for member_id, target in news(group.targets, assigned):
        RECORDS.write_target(turn, group.group_id, member_id, target)
    RECORDS.write_target_epoch(turn, group.group_id, group_epoch, turn.now_ms)
    return group_epoch, assigned[after.member_id]


def _spec(
    group: ConsumerRoster,
    members: Mapping[str, ConsumerMember],
    targets: Mapping[str, Mapping[bytes, frozenset[int]]],
    image: ClusterImage,
) -> GroupSpec:
    resolved = group.patterns.latest
    topic_ids: dict[frozenset[str], frozenset[bytes]] = {}
    counts: dict[bytes, int] = {}
    specs = {}
    for member_id, member in members.items():
        names = topics_of(member, resolved)
        if names not in topic_ids:
            topics = list(existing(image, names))
            topic_ids[names] = frozenset(topic.topic_id for topic in topics)
            counts.update((topic.topic_id, len(topic.partitions)) for topic in topics)
        specs[member_id] = MemberSpec(topic_ids[names], targets.get(member_id, {}), member.instance_id)
    return GroupSpec(specs, counts, len(set(topic_ids.values())) == 1)
