"""Steps of a member with either protocol: from its subscription to epochs, a target assignment and
partitions.

Each step is written if it changes anything. Kafka's counterparts: the numbered steps of
`consumerGroupHeartbeat` and `classicGroupJoinToConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.assignors.spec import GroupSpec, MemberSpec
from kcompat.group.kinds.consumer import scanning, sessions
from kcompat.group.kinds.consumer.reconciliation import ConsumerStep, reconcile
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.kinds.consumer.settings import ASSIGNORS
from kcompat.group.kinds.consumer.subscriptions import PatternChange, topics_of
from kcompat.group.modern.heartbeat import Refusal
from kcompat.group.modern.target import assign, changed_targets, may_assign_again
from kcompat.group.modern.topics import existing, existing_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.members import ConsumerMembers
    from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig


class Noted(Struct, frozen=True):
    """Group epoch after a member's fields were recorded, and whether its subscribed topics have changed."""

    group_epoch: int
    subscription_changed: bool


def take_note(
    transition: GroupTransition,
    group: ConsumerMembers,
    before: ConsumerMember,
    after: ConsumerMember,
    may_describe: Callable[[str], bool],
) -> Noted | Refusal:
    """Write a member's changed fields, and raise the group epoch if they or the topics require a new target.

    `may_describe(topic)` returns whether a pattern of the client may match the topic.
    """
    if after != before:
        RECORDS.write_member(transition, group.group_id, after)
    pattern = scanning.update(transition, group, before, after, may_describe)
    if isinstance(pattern, Refusal):
        return pattern
    names_changed = after.subscribed_topics != before.subscribed_topics
    bump = names_changed or pattern is PatternChange.RESOLVED or group.needs_target
    epoch = _group_epoch(transition, group, before, after, bump=bump)
    return Noted(epoch, names_changed or pattern is not PatternChange.NONE)


def go_on(
    transition: GroupTransition,
    group: ConsumerMembers,
    before: ConsumerMember,
    after: ConsumerMember,
    noted: Noted,
    owned: Mapping[bytes, frozenset[int]] | None,
    settings: ConsumerGroupConfig,
) -> ConsumerMember | Refusal:
    """Return the member after its next step towards its target, which is first recomputed if it is out of
    date.

    `owned` are the partitions that the member reports to own, None if it reports none.
    """
    target_epoch, target = next_target(transition, group, noted.group_epoch, before, after, settings)
    return step(transition, group, after, target_epoch, target, owned, changed=noted.subscription_changed)


def _group_epoch(
    transition: GroupTransition,
    group: ConsumerMembers,
    before: ConsumerMember,
    after: ConsumerMember,
    *,
    bump: bool,
) -> int:
    """Return the current group epoch, raised if the subscriptions or the topics have changed."""
    image = transition.shard.image()
    if not bump and not group.refresh_due(image):
        return group.group_epoch
    topics = group.subscriptions_with(before, after).topics()
    metadata_hash = transition.shard.hashes.of(topics, image)
    epoch = group.group_epoch
    if bump or metadata_hash != group.header.metadata_hash:
        epoch += 1
        RECORDS.write_epoch(transition, group.group_id, epoch, metadata_hash)
    if group.has_old_metadata:
        RECORDS.write_old_metadata_tombstone(transition, group.group_id)
    group.refreshed(epoch, topics, image)
    return epoch


def step(
    transition: GroupTransition,
    group: ConsumerMembers,
    member: ConsumerMember,
    target_epoch: int,
    target: Mapping[bytes, frozenset[int]],
    owned: Mapping[bytes, frozenset[int]] | None,
    *,
    changed: bool,
) -> ConsumerMember | Refusal:
    """Return the member after one step towards this target."""
    if not changed and member.is_reconciled_to(target_epoch):
        return member
    subscribed = existing_ids(transition.shard.image(), topics_of(member, group.patterns.latest))
    around = ConsumerStep(target_epoch, target, subscribed, group.is_held, owned, changed)
    reconciled = reconcile(member, around)
    if not isinstance(reconciled, Refusal) and reconciled != member:
        RECORDS.write_current(transition, group.group_id, reconciled)
        sessions.watch_revocation(transition, group.group_id, reconciled)
    return reconciled


def next_target(
    transition: GroupTransition,
    group: ConsumerMembers,
    group_epoch: int,
    before: ConsumerMember,
    after: ConsumerMember,
    settings: ConsumerGroupConfig,
) -> tuple[int, Mapping[bytes, frozenset[int]]]:
    """Return the epoch of the newest target assignment and the target of the member, which becomes `after`.

    A target assignment that is out of date is recomputed, unless the last one is too recent: then a later
    heartbeat recomputes it.
    """
    former = group.former(before)
    former_id = after.member_id if former is None else former.member_id
    if group.assignment_epoch >= group_epoch or not may_assign_again(
        group.header, settings.assignment_interval_ms, transition.now_ms
    ):
        return group.assignment_epoch, group.target(former_id)
    members = dict(group.members.latest)
    members.pop(former_id, None)
    members[after.member_id] = after
    targets = dict(group.targets.latest)
    if former_id in targets:
        targets[after.member_id] = targets.pop(former_id)
    spec = _spec(group, members, targets, transition.shard.image())
    name = group.preferred_assignor(former, after)
    assignor = ASSIGNORS[name if name in settings.assignors else settings.assignors[0]]
    assigned = assign(assignor, spec)
    for member_id, target in changed_targets(group.targets, assigned):
        RECORDS.write_target(transition, group.group_id, member_id, target)
    RECORDS.write_target_epoch(transition, group.group_id, group_epoch, transition.now_ms)
    return group_epoch, assigned[after.member_id]


def _spec(
    group: ConsumerMembers,
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
