"""ShareGroupHeartbeat: a member joins, stays, changes its subscription or leaves.

One heartbeat makes as many steps as possible: the request's fields change the group epoch, the group epoch
the target assignment, and the target the member's assignment. Share partitions that no member has fetched
from yet are first initialized by the share coordinator; a later heartbeat adds them to the target. Kafka's
counterpart: `GroupMetadataManager.shareGroupHeartbeat`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.assignors.spec import GroupSpec, MemberSpec
from kcompat.group.kinds.share.group import ShareGroup, fence, find_or_make, keep_alive
from kcompat.group.kinds.share.initialization import TopicPartitions, union
from kcompat.group.kinds.share.members import SHARE, ShareMember
from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.requests import Begin, ShareHeartbeatOutcome
from kcompat.group.kinds.share.settings import ASSIGNOR
from kcompat.group.modern.group import find, find_for_member
from kcompat.group.modern.heartbeat import (
    JOIN,
    HeartbeatAnswer,
    Refusal,
    epoch_refusal,
    full_group,
    unknown_member,
)
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.modern.subscribed import count_topics
from kcompat.group.modern.target import assign, changed_targets, may_assign_again
from kcompat.group.modern.topics import existing, existing_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.share.requests import ShareHeartbeatRequest


def leave(transition: GroupTransition, request: ShareHeartbeatRequest) -> ShareHeartbeatOutcome | Refusal:
    """Remove a member that leaves."""
    group = find(transition.shard, request.group_id, ShareGroup)
    if isinstance(group, Refusal):
        return group
    member = group.members.get(request.member_id)
    if member is None:
        return unknown_member(group.group_id, request.member_id)
    fence(transition, group, member)
    return ShareHeartbeatOutcome(
        HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)
    )


def go_on(transition: GroupTransition, request: ShareHeartbeatRequest) -> ShareHeartbeatOutcome | Refusal:
    """Add a member, or advance it to its target."""
    settings = settings_of(transition.shard.image(), transition.shard.config.share, request.group_id)
    group = _group(transition, request)
    if isinstance(group, Refusal):
        return group
    before = _member(group, request, settings.max_size)
    if isinstance(before, Refusal):
        return before
    after = _as_it_wants(before, request)
    names_changed = after.subscribed_topics != before.subscribed_topics
    if after != before:
        RECORDS.write_member(transition, group.group_id, after)
    subscribers = Counter(group.subscribers)
    count_topics(subscribers, before.subscribed_topics if group.members.get(before.member_id) else (), -1)
    count_topics(subscribers, after.subscribed_topics, 1)
    has_target = group.assignment_epoch >= group.group_epoch
    bump = names_changed or (has_target and is_incomplete(group, transition.shard.image()))
    epoch, bumped = _group_epoch(transition, group, subscribers, bump=bump)
    target_epoch, target = next_target(transition, group, epoch, after, settings.assignment_interval_ms)
    reconciled = _reconcile(transition, group, after, target_epoch, target, bumped=bumped)
    keep_alive(transition, group.group_id, after.member_id)
    tells = (
        request.member_epoch == JOIN
        or request.subscribed_topics is not None
        or before.assigned != reconciled.assigned
    )
    answer = HeartbeatAnswer(
        member_id=reconciled.member_id,
        member_epoch=reconciled.member_epoch,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        assigned={topic: tuple(sorted(indexes)) for topic, indexes in reconciled.assigned.items()}
        if tells
        else None,
    )
    return ShareHeartbeatOutcome(answer, _begin(transition, group, epoch, subscribers))


def _group(transition: GroupTransition, request: ShareHeartbeatRequest) -> ShareGroup | Refusal:
    if request.member_epoch == JOIN:
        return find_or_make(transition.shard, request.group_id)
    return find_for_member(transition.shard, request.group_id, ShareGroup)


def _member(group: ShareGroup, request: ShareHeartbeatRequest, max_size: int) -> ShareMember | Refusal:
    """Return the member in the log, or a new one that joins."""
    member = group.members.get(request.member_id)
    if member is None and len(group.members) >= max_size:
        return full_group(SHARE, max_size)
    if member is None:
        joins = request.member_epoch == JOIN
        return ShareMember(request.member_id) if joins else unknown_member(group.group_id, request.member_id)
    previous = member.previous_member_epoch
    refusal = epoch_refusal(
        SHARE,
        request.member_epoch,
        member.member_epoch,
        accepts_older=request.member_epoch == previous,
        why=f", and it does not match the previous member epoch ({previous})",
    )
    return refusal or member


def _as_it_wants(member: ShareMember, request: ShareHeartbeatRequest) -> ShareMember:
    """Return the member with the fields of the request."""
    topics = request.subscribed_topics
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topics=member.subscribed_topics if topics is None else topics,
        client_id=request.client_id,
        client_host=request.client_host,
    )


def _group_epoch(
    transition: GroupTransition, group: ShareGroup, subscribers: Counter[str], *, bump: bool
) -> tuple[int, bool]:
    """Raise the group epoch if the subscriptions or the topics have changed.

    Returns the current group epoch, and whether it was raised.
    """
    image = transition.shard.image()
    if not bump and not group.refresh_due(image):
        return group.group_epoch, False
    metadata_hash = transition.shard.hashes.of(subscribers, image)
    bump = bump or metadata_hash != group.header.metadata_hash
    epoch = group.group_epoch
    if bump:
        epoch += 1
        RECORDS.write_epoch(transition, group.group_id, epoch, metadata_hash)
    group.refreshed(epoch, subscribers, image)
    return epoch, bump


def _reconcile(
    transition: GroupTransition,
    group: ShareGroup,
    member: ShareMember,
    target_epoch: int,
    target: Mapping[bytes, frozenset[int]],
    *,
    bumped: bool,
) -> ShareMember:
    """Return the member with its whole target, at once, because several members may have the same share
    partition.
    """
    if not bumped and member.member_epoch == target_epoch:
        return member
    subscribed = existing_ids(transition.shard.image(), member.subscribed_topics)
    assigned = {topic_id: indexes for topic_id, indexes in target.items() if topic_id in subscribed}
    reconciled = replace(member, assigned=assigned)
    if member.member_epoch != target_epoch:
        reconciled = replace(reconciled, member_epoch=target_epoch, previous_member_epoch=member.member_epoch)
    if reconciled != member:
        RECORDS.write_current(transition, group.group_id, reconciled)
    return reconciled


def _begin(transition: GroupTransition, group: ShareGroup, epoch: int, names: Iterable[str]) -> Begin | None:
    """Request the initialization of share partitions without state that was not requested recently; None if
    there are none.
    """
    state, retry_ms = group.initialization, transition.shard.config.share.initialize_retry_interval_ms
    recent = {
        topic_id: row
        for topic_id, row in state.initializing.items()
        if (since := group.requested_ms.get(topic_id)) is not None and transition.now_ms - since < retry_ms
    }
    known = union(state.initialized, recent)
    topics: dict[bytes, TopicPartitions] = {}
    for topic in existing(transition.shard.image(), names):
        row = known.get(topic.topic_id)
        missing = frozenset(range(len(topic.partitions))) - (row.partitions if row else frozenset())
        if missing:
            topics[topic.topic_id] = TopicPartitions(topic.name, missing)
    if not topics:
        return None
    group.requested_ms.update(dict.fromkeys(topics, transition.now_ms))
    RECORDS.write_initialization(transition, group.group_id, state.with_begun(topics))
    return Begin(epoch, topics)


def next_target(
    transition: GroupTransition, group: ShareGroup, group_epoch: int, member: ShareMember, interval_ms: int
) -> tuple[int, Mapping[bytes, frozenset[int]]]:
    """Return the epoch of the newest target assignment and the member's target in it.

    A target assignment that is out of date is recomputed, but not until it has lasted for `interval_ms`.
    """
    is_due = may_assign_again(group.header, interval_ms, transition.now_ms)
    if group.assignment_epoch >= group_epoch or not is_due:
        return group.assignment_epoch, group.target(member.member_id)
    members = {**dict(group.members.items()), member.member_id: member}
    assigned = assign(ASSIGNOR, _spec(group, members, transition.shard.image()))
    for member_id, target in changed_targets(group.targets, assigned):
        RECORDS.write_target(transition, group.group_id, member_id, target)
    RECORDS.write_target_epoch(transition, group.group_id, group_epoch, transition.now_ms)
    return group_epoch, assigned[member.member_id]


def _spec(group: ShareGroup, members: Mapping[str, ShareMember], image: ClusterImage) -> GroupSpec:
    """Return the assignor's input, in which only share partitions with state can be assigned."""
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
    """Return whether the initialized share partitions differ from those that the members together are
    assigned.

    Kafka calls this condition `initializedAssignmentPending`. Topics that no longer exist are not assigned.
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
