"""The sticky assignor: tasks stay with their members as long as the loads are even. Pure.

Active tasks are assigned first. Each goes to its last owner, or else to a member that had a copy, as long as
the member's share is not exceeded; the others go to the least loaded process. Then each standby task goes to
processes that do not have the task. Kafka's counterpart: `StickyTaskAssignor`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.kinds.streams.tasks import NO_TASKS, Task, Tasks, each_task, task_sets
from kcompat.group.modern.topics import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TaskCount(Struct, frozen=True):
    """Number of tasks of a subtopology, and whether they are stateful; only stateful tasks have standby
    tasks.
    """

    tasks: int
    is_stateful: bool = False


class StreamsMemberSpec(Struct, frozen=True):
    """Input of the assignor for one member: the id of its process, and its last target."""

    process_id: str
    target: Tasks = NO_TASKS


class StreamsSpec(Struct, frozen=True):
    """Input of the assignor for a group: members by id, subtopologies by id, and the number of copies of each
    stateful task.
    """

    members: Mapping[str, StreamsMemberSpec]
    subtopologies: Mapping[str, TaskCount]
    standby_replicas: int = 0


def assign(spec: StreamsSpec) -> dict[str, Tasks]:
    """Return the next target of each member. A task has no more standby copies than there are other
    processes.
    """
    return _Assignment(spec).made() if spec.members else {}


class _Share:
    """Limit on the tasks that a member keeps: its share of the tasks that remain to be assigned."""

    __slots__ = ("_members", "_tasks", "most")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.most = 0
        self._divide()

    def _divide(self) -> None:
        self.most = -(-self._tasks // self._members) if self._members else 0

    def given(self, count: int) -> None:
        """Subtract the tasks that a member has got (`count`) from the remaining ones."""
        if count == self.most:
            self._members -= 1
            self._tasks -= count
            self._divide()


class _Process:
    """A process with its members and their tasks."""

    __slots__ = ("counts", "place", "tasks", "total")

    def __init__(self, place: int) -> None:
        self.place = place
        self.counts: dict[str, int] = {}
        self.tasks: set[Task] = set()
        self.total = 0

    @property
    def load(self) -> float:
        """Average number of tasks for each member of the process."""
        return self.total / len(self.counts)

    def least_loaded(self) -> str:
        """Return the member with the fewest tasks; among equals the first by id."""
        return min(self.counts, key=self.counts.__getitem__)


class _Assignment:
    """A target assignment in progress."""

    def __init__(self, spec: StreamsSpec) -> None:
        self._spec = spec
        counts = spec.subtopologies.values()
        active = sum(each.tasks for each in counts)
        copies = sum(each.tasks for each in counts if each.is_stateful) * spec.standby_replicas
        self._active_share = _Share(active, len(spec.members))
        self._share = _Share(active + copies, len(spec.members))
        self._processes: dict[str, _Process] = {}
        self._had_active: dict[Task, str] = {}
        self._had_copy: dict[Task, list[str]] = {}
        self._active: dict[str, list[Task]] = {member_id: [] for member_id in spec.members}
        self._standby: dict[str, list[Task]] = {member_id: [] for member_id in spec.members}
        for member_id in sorted(spec.members, key=java_order):
            member = spec.members[member_id]
            process = self._processes.setdefault(member.process_id, _Process(len(self._processes)))
            process.counts[member_id] = 0
            for task in each_task(member.target.active):
                self._had_active[task] = member_id
            for task in each_task(member.target.standby):
                self._had_copy.setdefault(task, []).append(member_id)

    def made(self) -> dict[str, Tasks]:
        """Return the targets of all members."""
        self._assign_active()
        if self._spec.standby_replicas:
            self._assign_standby()
        return {
            member_id: Tasks(
                _by_subtopology(self._active[member_id]), _by_subtopology(self._standby[member_id])
            )
            for member_id in self._spec.members
        }

    def _process(self, member_id: str) -> _Process:
        return self._processes[self._spec.members[member_id].process_id]

    def _give(self, task: Task, member_id: str, *, active: bool) -> None:
        process = self._process(member_id)
        process.tasks.add(task)
        process.total += 1
        process.counts[member_id] += 1
        (self._active if active else self._standby)[member_id].append(task)
        if active:
            self._active_share.given(process.counts[member_id])
        self._share.given(process.counts[member_id])

    def _has_room(self, member_id: str, share: _Share) -> bool:
        return self._process(member_id).counts[member_id] < share.most

    def _tasks(self, *, stateful: bool) -> list[Task]:
        """Return tasks ordered by number, because copartitioned tasks of different subtopologies have the
        same number.
        """
        tasks = [
            (subtopology, number)
            for subtopology, count in self._spec.subtopologies.items()
            if count.is_stateful or not stateful
            for number in range(count.tasks)
        ]
        return sorted(tasks, key=lambda task: (task[1], java_order(task[0])))

    # --- active tasks

    def _assign_active(self) -> None:
        left = [task for task in self._tasks(stateful=False) if not self._stays(task)]
        left = [task for task in left if not self._goes_to_a_copy(task)]
        queue = self._by_load()
        for task in sorted(left, key=_in_order):
            process = heapq.heappop(queue)[2]
            self._give(task, process.least_loaded(), active=True)
            heapq.heappush(queue, (process.load, process.place, process))

    def _stays(self, task: Task) -> bool:
        member_id = self._had_active.get(task)
        if member_id is None or not self._has_room(member_id, self._active_share):
            return False
        self._give(task, member_id, active=True)
        return True

    def _goes_to_a_copy(self, task: Task) -> bool:
        member_id = self._least_loaded(self._had_copy.get(task, ()))
        if member_id is None or not self._has_room(member_id, self._active_share):
            return False
        self._give(task, member_id, active=True)
        return True

    def _least_loaded(self, member_ids: Iterable[str]) -> str | None:
        """Return the first of these members in the least loaded process."""

        def load(member_id: str) -> tuple[float, int]:
            process = self._process(member_id)
            return process.load, process.counts[member_id]

        return min(member_ids, key=load, default=None)

    def _by_load(self) -> list[tuple[float, int, _Process]]:
        queue = [(process.load, process.place, process) for process in self._processes.values()]
        heapq.heapify(queue)
        return queue

    # --- standby tasks

    def _assign_standby(self) -> None:
        left: list[Task] = []
        for task in reversed(self._tasks(stateful=True)):
            for number in range(self._spec.standby_replicas):
                if not self._stays_as_a_copy(task):
                    left += [task] * (self._spec.standby_replicas - number)
                    break
        queue = self._by_load()
        for task in sorted(left, key=_in_order, reverse=True):
            self._copy_to_least_loaded(task, queue)

    def _stays_as_a_copy(self, task: Task) -> bool:
        """Assign a copy to a former owner of the task, in any role; return False if none can take it."""
        former = self._had_active.get(task)
        if (
            former is not None
            and task not in self._process(former).tasks
            and self._has_room(former, self._share)
        ):
            self._give(task, former, active=False)
            return True
        copies = [each for each in self._had_copy.get(task, ()) if task not in self._process(each).tasks]
        member_id = self._least_loaded(copies)
        if member_id is None or not self._has_room(member_id, self._share):
            return False
        self._give(task, member_id, active=False)
        return True

    def _copy_to_least_loaded(self, task: Task, queue: list[tuple[float, int, _Process]]) -> None:
        passed = []
        while queue:
            _, _, process = entry = heapq.heappop(queue)
            if task in process.tasks:
                passed.append(entry)
                continue
            self._give(task, process.least_loaded(), active=False)
            passed.append((process.load, process.place, process))
            break
        for entry in passed:
            heapq.heappush(queue, entry)


def _in_order(task: Task) -> tuple[bytes, int]:
    return java_order(task[0]), task[1]


def _by_subtopology(tasks: Iterable[Task]) -> dict[str, frozenset[int]]:
    found: dict[str, list[int]] = {}
    for subtopology, number in tasks:
        found.setdefault(subtopology, []).append(number)
    return task_sets(found.items())
