"""Reconciliation of a streams member with its target assignment: revoke tasks, then take free tasks. Pure.

A member gets an active task only after its present owner has revoked it. A process has each task at most
once, in one role. Kafka's counterpart: `streams.CurrentAssignmentBuilder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcompat.group.kinds.streams.member import StreamsMemberState
from kcompat.group.kinds.streams.tasks import NONE_HELD, HeldTasks, Task, Tasks, task_sets
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.group.kinds.streams.member import StreamsMember


class TaskHolders(Protocol):
    """The tasks that members of a group have or have yet to revoke, and the processes of these members."""

    def is_active(self, task: Task) -> bool:
        """Return whether any member has this active task."""

    def is_active_at(self, task: Task, process_id: str) -> bool:
        """Return whether a member in the process `process_id` has this active task."""

    def is_copied_at(self, task: Task, process_id: str) -> bool:
        """Return whether a member in the process `process_id` has this standby or warm-up task."""


class StreamsStep(Struct, frozen=True):
    """Facts that decide the next step of a member towards its target.

    `target` is the target at `target_epoch`; `reported` are the tasks that the member reports, None if it
    reports nothing.
    """

    target_epoch: int
    target: Tasks
    holders: TaskHolders
    reported: Tasks | None


def reconcile(member: StreamsMember, around: StreamsStep) -> StreamsMember | Refusal:
    """Return the member after its next step towards its target, or the refusal of its heartbeat."""
    match member.state:
        case StreamsMemberState.STABLE:
            if member.member_epoch == around.target_epoch:
                return member
            return _next(member, member.member_epoch, around)
        case StreamsMemberState.UNREVOKED_TASKS:
            if _still_has(member.revoking, around):
                return member
            return _next(member, member.member_epoch + 1, around)
        case StreamsMemberState.UNRELEASED_TASKS:
            return _next(member, member.member_epoch, around)
        case _:
            if around.reported is None or not around.reported.is_empty:
                return Refusal(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The streams group member is in a unknown state. The member must abandon all its tasks "
                    "and rejoin.",
                )
            return _next(member, around.target_epoch, around)


def _still_has(revoking: HeldTasks, around: StreamsStep) -> bool:
    """Return whether the member has yet to revoke any of the tasks in `revoking`.

    A member that reports no tasks has revoked nothing.
    """
    return around.reported is None or around.reported.has_any_of(revoking)


def _next(member: StreamsMember, epoch: int, around: StreamsStep) -> StreamsMember:
    """Return the member with every target task that is free, at the target epoch.

    A member that has tasks to revoke keeps `epoch` and gets no task.
    """
    has, target, holders, process_id = member.assigned, around.target, around.holders, member.process_id

    def is_free_for_active(task: Task) -> bool:
        return not (holders.is_active(task) or holders.is_copied_at(task, process_id))

    def is_free_for_copy(task: Task) -> bool:
        return not (holders.is_active_at(task, process_id) or holders.is_copied_at(task, process_id))

    active = _step(has.active, target.active, is_free_for_active)
    standby = _step(has.standby, target.standby, is_free_for_copy)
    warmup = _step(has.warmup, target.warmup, is_free_for_copy)
    gone = HeldTasks(_with_epochs(has, active.gone), standby.gone, warmup.gone)
    if not gone.is_empty and _still_has(gone, around):
        kept = HeldTasks(_with_epochs(has, active.kept), standby.kept, warmup.kept)
        return _at(member, epoch, StreamsMemberState.UNREVOKED_TASKS, kept, gone)
    had = _with_epochs(has, active.kept)
    for subtopology, numbers in active.free.items():
        had.setdefault(subtopology, {}).update(dict.fromkeys(sorted(numbers), around.target_epoch))
    held = HeldTasks(had, _union(standby.kept, standby.free), _union(warmup.kept, warmup.free))
    waits = active.waits or standby.waits or warmup.waits
    state = StreamsMemberState.UNRELEASED_TASKS if waits else StreamsMemberState.STABLE
    return _at(member, around.target_epoch, state, held, NONE_HELD)


class _Step(Struct, frozen=True):
    """The next step for a member's tasks of one role: tasks to keep, to revoke, and to take now.

    `waits` says whether the target has tasks that other members have yet to give up.
    """

    kept: dict[str, frozenset[int]]
    gone: dict[str, frozenset[int]]
    free: dict[str, frozenset[int]]
    waits: bool


def _step(
    has: Mapping[str, Iterable[int]], wanted: Mapping[str, frozenset[int]], is_free: Callable[[Task], bool]
) -> _Step:
    current = {subtopology: frozenset(numbers) for subtopology, numbers in has.items()}
    missing = {each: numbers - current.get(each, frozenset()) for each, numbers in wanted.items()}
    free = {each: [n for n in numbers if is_free((each, n))] for each, numbers in missing.items()}
    return _Step(
        task_sets((each, numbers & wanted.get(each, frozenset())) for each, numbers in current.items()),
        task_sets((each, numbers - wanted.get(each, frozenset())) for each, numbers in current.items()),
        task_sets(free.items()),
        any(len(free[each]) < len(numbers) for each, numbers in missing.items()),
    )


def _with_epochs(has: HeldTasks, tasks: Mapping[str, frozenset[int]]) -> dict[str, dict[int, int]]:
    return {each: {n: has.active[each][n] for n in sorted(numbers)} for each, numbers in tasks.items()}


def _union(
    tasks: Mapping[str, frozenset[int]], others: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    nothing: frozenset[int] = frozenset()
    return {
        each: tasks.get(each, nothing) | others.get(each, nothing) for each in tasks.keys() | others.keys()
    }


def _at(
    member: StreamsMember, epoch: int, state: StreamsMemberState, assigned: HeldTasks, revoking: HeldTasks
) -> StreamsMember:
    return replace(
        member,
        member_epoch=epoch,
        previous_member_epoch=member.member_epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )
