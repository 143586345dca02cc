"""The target assignment of a streams group, and its recomputation when the group has changed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kcompat.coordinator.transition import as_operation
from kcompat.group.kinds.streams.configured import Status, StatusCode
from kcompat.group.kinds.streams.members import StreamsMembers
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.kinds.streams.sessions import delay_key
from kcompat.group.kinds.streams.sticky import StreamsMemberSpec, StreamsSpec, TaskCount, assign
from kcompat.group.kinds.streams.tasks import NO_TASKS, Tasks
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.modern.target import changed_targets, may_assign_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.streams.configured import ConfiguredTopology
    from kcompat.group.kinds.streams.member import StreamsMember

STANDBY_REPLICAS = "num.standby.replicas"
"""Name of the config with the number of standby copies, as the group's record has it."""

_BY_DELAY = "Assignment delayed due to the configured initial rebalance delay."
_BY_INTERVAL = "Assignment delayed due to the configured assignment interval."


class Target(NamedTuple):
    """Epoch of the newest target assignment, and a member's target in it; `delayed` has the reason if the
    next one is delayed.
    """

    epoch: int
    tasks: Tasks
    delayed: Status | None = None


def await_more_members(transition: GroupTransition, group: StreamsMembers, delay_ms: int) -> None:
    """Delay the first target of a group by `delay_ms`; do nothing if the group already has members."""
    key = delay_key(group.group_id)
    if group.is_empty and delay_ms > 0 and not transition.shard.timers.is_set(key):
        transition.shard.timers.schedule(
            key, delay_ms, as_operation(partial(_end_delay, group_id=group.group_id))
        )


def next_target(
    transition: GroupTransition,
    group: StreamsMembers,
    group_epoch: int,
    member: StreamsMember,
    configured: ConfiguredTopology,
    assignment_configs: Mapping[str, str],
) -> Target:
    """Return the target of a member that is new or has changed.

    A target assignment that is out of date is recomputed, unless the group waits for more members or the last
    one is too recent: then a later heartbeat recomputes it.
    """
    if transition.shard.timers.is_set(delay_key(group.group_id)):
        return Target(group.assignment_epoch, NO_TASKS, Status(StatusCode.ASSIGNMENT_DELAYED, _BY_DELAY))
    if group.assignment_epoch >= group_epoch:
        return Target(group.assignment_epoch, group.target(member.member_id))
    if not _is_due(transition, group):
        delayed = Status(StatusCode.ASSIGNMENT_DELAYED, _BY_INTERVAL)
        return Target(group.assignment_epoch, group.target(member.member_id), delayed)
    members = {**dict(group.members.items()), member.member_id: member}
    targets = _write(transition, group, group_epoch, members, configured, assignment_configs)
    return Target(group_epoch, targets[member.member_id])


def _end_delay(transition: GroupTransition, group_id: str) -> None:
    """End the wait for more members. If the topology does not match the topics yet, a later heartbeat
    computes the target.
    """
    group: object = transition.shard.groups.get(group_id)
    if not isinstance(group, StreamsMembers) or group.is_empty or group.configured is None:
        return
    if group.group_epoch > group.assignment_epoch and _is_due(transition, group):
        configs = group.basis.assignment_configs
        _write(transition, group, group.group_epoch, dict(group.members.items()), group.configured, configs)


def _is_due(transition: GroupTransition, group: StreamsMembers) -> bool:
    interval_ms = settings_of(
        transition.shard.image(), transition.shard.config.streams, group.group_id
    ).assignment_interval_ms
    return may_assign_again(group.header, interval_ms, transition.now_ms)


def _write(
    transition: GroupTransition,
    group: StreamsMembers,
    group_epoch: int,
    members: Mapping[str, StreamsMember],
    configured: ConfiguredTopology,
    assignment_configs: Mapping[str, str],
) -> Mapping[str, Tasks]:
    """Compute and write a target assignment for these members; return the target of each."""
    targets = dict.fromkeys(members, NO_TASKS)
    if configured.is_ready:
        targets.update(assign(_spec(group, members, configured, assignment_configs)))
    for member_id, target in changed_targets(group.targets, targets):
        RECORDS.write_target(transition, group.group_id, member_id, target)
    RECORDS.write_target_epoch(transition, group.group_id, group_epoch, transition.now_ms)
    return targets


def _spec(
    group: StreamsMembers,
    members: Mapping[str, StreamsMember],
    configured: ConfiguredTopology,
    assignment_configs: Mapping[str, str],
) -> StreamsSpec:
    return StreamsSpec(
        {
            member_id: StreamsMemberSpec(member.process_id, group.target(member_id))
            for member_id, member in members.items()
        },
        {
            subtopology_id: TaskCount(each.tasks, bool(each.state_changelog_topics))
            for subtopology_id, each in (configured.subtopologies or {}).items()
        },
        int(assignment_configs.get(STANDBY_REPLICAS, "0")),
    )
