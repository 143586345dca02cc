"""Rebalances: waiting for members, electing a leader, and removing members whose timers end.

A group has these timers, in milliseconds: one for the join phase, one for the sync phase (both the longest
rebalance timeout of the members), and one for each member's session (a fixed limit for new members in their
first join).
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from kcompat.coordinator.transition import as_operation
from kcompat.group.events import Change, Why
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.group.presence import session_key
from kcompat.group.requests import JoinAnswer, SyncAnswer
from kcompat.logger_names import GROUP_COORDINATOR
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import ShardOperation
    from kcompat.group.base import GroupTransition, ShardGroups
    from kcompat.group.kinds.classic.members import ClassicMember, ClassicMembers

logger = logging.getLogger(GROUP_COORDINATOR)

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
"""Time in ms after which a new member's first join is abandoned: its client has retried under another id."""

WAIT_FOR_EXPECTED_MS = 200
"""Time in ms for which a first generation waits for expected members; each join restarts it."""


def prepare(transition: GroupTransition, group: ClassicMembers, why: Why) -> None:
    """Begin a rebalance, in which every member has to join again."""
    logger.info(
        "Preparing to rebalance group %s in state %s with old generation %d (reason: %s)",
        *(group.group_id, group.state.name.title().replace("_", ""), group.generation, why.reason),
    )
    transition.shard.events.rebalances(group.group_id, why)
    if group.is_in(ClassicState.COMPLETING_REBALANCE):
        answer_syncs(transition, group, ErrorCode.REBALANCE_IN_PROGRESS)
        for member in group.members.values():
            member.assignment = b""  # it belonged to the previous generation
    transition.shard.timers.cancel(_sync_key(group))
    was_empty = group.is_in(ClassicState.EMPTY)
    group.transition_to(ClassicState.PREPARING_REBALANCE, transition.now_ms)
    if was_empty:
        delay_ms = _first_delay_ms(transition, group)
        _delay_first_generation(transition, group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
    else:
        _wait_for_members(transition, group)
        complete_if_all_joined(transition, group)


def prepare_if_possible(transition: GroupTransition, group: ClassicMembers, why: Why) -> None:
    """Begin a rebalance unless one is in its join phase; then complete the join phase if all members have
    joined.
    """
    if ClassicState.PREPARING_REBALANCE.may_follow(group.state):
        prepare(transition, group, why)
    else:
        complete_if_all_joined(transition, group)


def complete_if_all_joined(transition: GroupTransition, group: ClassicMembers) -> None:
    """Start the next generation if all members have joined."""
    if (
        group.is_in(ClassicState.PREPARING_REBALANCE)
        and not group.in_initial_delay
        and group.everybody_joined
    ):
        _complete_join(transition, group)


def _first_delay_ms(transition: GroupTransition, group: ClassicMembers) -> int:
    """Return the time in ms for which a first generation waits for more members."""
    configured_ms = transition.shard.config.initial_rebalance_delay_ms
    if configured_ms == 0 and transition.shard.expected.any_for(group.group_id, transition.now_ms):
        return WAIT_FOR_EXPECTED_MS
    return configured_ms


def _delay_first_generation(
    transition: GroupTransition, group: ClassicMembers, delay_ms: int, remaining_ms: int
) -> None:
    """Extend the delay of the first generation as long as new members join (KIP-134)."""
    group.in_initial_delay = True
    group.new_member_added = False

    def over(transition: GroupTransition, group: ClassicMembers) -> None:
        if group.new_member_added and remaining_ms > 0:
            more_ms = min(delay_ms, remaining_ms)
            _delay_first_generation(transition, group, more_ms, remaining_ms - more_ms)
        else:
            _complete_join(transition, group)

    if delay_ms > 0:
        transition.shard.timers.schedule(_join_key(group), delay_ms, _on_group(group, over))
    else:
        _complete_join(transition, group)


def _wait_for_members(transition: GroupTransition, group: ClassicMembers) -> None:
    transition.shard.timers.schedule(
        _join_key(group), group.rebalance_timeout_ms, _on_group(group, _complete_join)
    )


def _complete_join(transition: GroupTransition, group: ClassicMembers) -> None:
    """End the join phase and continue with the members that joined, and static members that may be
    restarting.
    """
    group.in_initial_delay = False
    transition.shard.timers.cancel(_join_key(group))
    for member in [m for m in group.members.values() if m.join is None and not m.is_static]:
        transition.shard.timers.cancel(session_key(group.group_id, member.member_id))
        reason = (
            f"it did not join again within the rebalance timeout of {group.rebalance_timeout_ms} ms "
            f"(max.poll.interval.ms of the consumer)"
        )
        transition.shard.events.expired(group.group_id, member, reason)
        group.remove(member.member_id)
    if group.members and not _elect_joined_leader(group):
        _wait_for_members(transition, group)
        return
    group.next_generation(transition.now_ms)
    if group.is_in(ClassicState.EMPTY):
        logger.info("Group %s with generation %d is now empty", group.group_id, group.generation)
        store(transition, group, {})
        return
    logger.info(
        "Stabilized group %s generation %d with %d members",
        *(group.group_id, group.generation, len(group.members)),
    )
    for member in group.members.values():
        transition.answer(group.take_join(member), group.join_answer(member.member_id))
        member.is_new = False
        group.pending_syncs.add(member.member_id)
        keep_alive(transition, group, member)
    transition.shard.timers.schedule(
        _sync_key(group),
        group.rebalance_timeout_ms,
        _on_group(group, partial(_expire_syncs, generation=group.generation)),
    )


def _elect_joined_leader(group: ClassicMembers) -> bool:
    """Keep the leader if it has joined, else elect a member that has; return False if there is none."""
    assert group.leader is not None
    if group.members[group.leader].join is not None:
        return True
    joined = next((m.member_id for m in group.members.values() if m.join is not None), None)
    group.leader = joined or group.leader
    return joined is not None


def store(transition: GroupTransition, group: ClassicMembers, assignments: dict[str, bytes]) -> None:
    """Write the record of this generation with these assignments."""
    transition.write(GroupMetadataKey(group=group.group_id), group.to_value(assignments))


def sync_received(transition: GroupTransition, group: ClassicMembers, member_id: str) -> None:
    """Record that a member has sent its sync; after the last one, cancel the timer of the sync phase."""
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        transition.shard.timers.cancel(_sync_key(group))


def _expire_syncs(transition: GroupTransition, group: ClassicMembers, generation: int) -> None:
    """Remove the members that joined this generation but did not send a sync in time."""
    if group.generation != generation or not group.is_in(
        ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE
    ):
        return
    for member_id, member in list(group.members.items()):
        if member_id not in group.pending_syncs:
            continue
        transition.answer(group.take_join(member), JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))
        transition.shard.timers.cancel(session_key(group.group_id, member_id))
        reason = f"it sent no SyncGroup within the rebalance timeout of {group.rebalance_timeout_ms} ms"
        transition.shard.events.expired(group.group_id, member, reason)
        group.remove(member_id)
    prepare(transition, group, Why(Change.DEPARTURE, "members sent no SyncGroup in time"))


def answer_syncs(transition: GroupTransition, group: ClassicMembers, error: ErrorCode) -> None:
    """Answer all parked syncs with assignments or an error, and restart the sessions of their members."""
    for member in group.members.values():
        promise = member.take_sync()
        if error == ErrorCode.NONE:
            answer = SyncAnswer(error, group.protocol_type, group.protocol_name, member.assignment)
        else:
            answer = SyncAnswer(error)
        if transition.answer(promise, answer):
            keep_alive(transition, group, member)


def remove_member(
    transition: GroupTransition, group: ClassicMembers, member: ClassicMember, reason: str
) -> None:
    """Remove a member that leaves or whose session has ended; the remaining members rebalance."""
    transition.answer(group.take_join(member), JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))
    transition.answer(member.take_sync(), SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))
    transition.shard.timers.cancel(session_key(group.group_id, member.member_id))
    group.remove(member.member_id)
    prepare_if_possible(
        transition, group, Why(Change.DEPARTURE, f"removing member {member.member_id} on {reason}")
    )


def add_pending(
    transition: GroupTransition, group: ClassicMembers, member_id: str, session_timeout_ms: int
) -> None:
    """Record a member id that was assigned to a client, which has to join with it within its session
    timeout.
    """
    group.pending_members.add(member_id)
    transition.shard.timers.schedule(
        session_key(group.group_id, member_id),
        session_timeout_ms,
        _on_group(group, partial(remove_pending, member_id=member_id)),
    )


def remove_pending(transition: GroupTransition, group: ClassicMembers, member_id: str) -> None:
    """Drop an assigned member id whose client did not join in time, or left."""
    transition.shard.timers.cancel(session_key(group.group_id, member_id))
    group.pending_members.discard(member_id)
    complete_if_all_joined(transition, group)


def keep_alive(transition: GroupTransition, group: ClassicMembers, member: ClassicMember) -> None:
    """Restart the session of a member that has sent a request."""
    _schedule_session(transition, group, member, member.session_timeout_ms)


def limit_first_join(transition: GroupTransition, group: ClassicMembers, member: ClassicMember) -> None:
    """Start the fixed timer that bounds the first join of a new member."""
    _schedule_session(transition, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)


def end_session(transition: GroupTransition, group: ClassicMembers, member_id: str) -> None:
    """Cancel the timer of a member id that is no longer used."""
    transition.shard.timers.cancel(session_key(group.group_id, member_id))


def dissolve(transition: GroupTransition, group: ClassicMembers) -> None:
    """Answer the parked requests of a group that is no longer classic with a retriable error, and cancel its
    timers.
    """
    error = ErrorCode.REBALANCE_IN_PROGRESS
    for member in group.members.values():
        transition.answer(group.take_join(member), JoinAnswer(error, member_id=member.member_id))
        transition.answer(member.take_sync(), SyncAnswer(error))
        end_session(transition, group, member.member_id)
    for member_id in group.pending_members:
        end_session(transition, group, member_id)
    transition.shard.timers.cancel(_join_key(group))
    transition.shard.timers.cancel(_sync_key(group))


def _schedule_session(
    transition: GroupTransition, group: ClassicMembers, member: ClassicMember, timeout_ms: int
) -> None:
    transition.shard.timers.schedule(
        session_key(group.group_id, member.member_id),
        timeout_ms,
        _on_group(group, partial(_expire_session, member_id=member.member_id)),
    )


def _expire_session(transition: GroupTransition, group: ClassicMembers, member_id: str) -> None:
    member = group.members.get(member_id)
    if member is None:
        return
    waits = member.join is not None or member.sync is not None
    if member.is_new or not waits:
        silence = f"no request for its session timeout of {member.session_timeout_ms} ms"
        transition.shard.events.expired(group.group_id, member, silence)
        remove_member(transition, group, member, "heartbeat expiration")


def _on_group(
    group: ClassicMembers, action: Callable[[GroupTransition, ClassicMembers], None]
) -> ShardOperation[ShardGroups, None]:
    """Return an operation for a timer, which runs `action` on the group unless the group was deleted."""

    def decide(transition: GroupTransition) -> None:
        held: object = transition.shard.groups.get(group.group_id)
        if held is group:
            action(transition, group)

    return as_operation(decide)


def _join_key(group: ClassicMembers) -> tuple[str, str]:
    return ("join", group.group_id)


def _sync_key(group: ClassicMembers) -> tuple[str, str]:
    return ("sync", group.group_id)
