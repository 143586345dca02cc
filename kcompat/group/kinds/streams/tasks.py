"""Tasks in targets and in members' reports: the id of a subtopology, and the number of a task in it.

Kafka's counterparts: `TasksTuple`, `TasksTupleWithEpochs`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NO_SETS: Mapping[str, frozenset[int]] = MappingProxyType({})
NO_EPOCHS: Mapping[str, Mapping[int, int]] = MappingProxyType({})

Task = tuple[str, int]
"""Id of a subtopology and task number."""


class Tasks(Struct, frozen=True):
    """Tasks by role, of a member's target or in its report. Kafka 4.3 assigns no warm-up tasks."""

    active: Mapping[str, frozenset[int]] = NO_SETS
    standby: Mapping[str, frozenset[int]] = NO_SETS
    warmup: Mapping[str, frozenset[int]] = NO_SETS

    @property
    def is_empty(self) -> bool:
        """Whether there are no tasks."""
        return not (self.active or self.standby or self.warmup)

    def has_any_of(self, held: HeldTasks) -> bool:
        """Return whether any of the tasks in `held` is among these, in the same role."""
        return (
            _overlap(self.active, held.active)
            or _overlap(self.standby, held.standby)
            or _overlap(self.warmup, held.warmup)
        )

    def are_within(self, held: HeldTasks) -> bool:
        """Return whether all of these tasks are among those in `held`, in the same role."""
        return (
            _are_within(self.active, held.active)
            and _are_within(self.standby, held.standby)
            and _are_within(self.warmup, held.warmup)
        )


class HeldTasks(Struct, frozen=True):
    """Tasks that a member has or has yet to revoke.

    Each active task has the epoch in which the member got it; from that epoch on the member may commit
    offsets (KIP-1251).
    """

    active: Mapping[str, Mapping[int, int]] = NO_EPOCHS
    standby: Mapping[str, frozenset[int]] = NO_SETS
    warmup: Mapping[str, frozenset[int]] = NO_SETS

    @property
    def is_empty(self) -> bool:
        """Whether there are no tasks."""
        return not (self.active or self.standby or self.warmup)

    def each_active(self) -> Iterator[Task]:
        """Return the active tasks one by one."""
        return each_task(self.active)

    def each_copied(self) -> Iterator[Task]:
        """Return the standby and warm-up tasks one by one."""
        yield from each_task(self.standby)
        yield from each_task(self.warmup)


NO_TASKS = Tasks()
NONE_HELD = HeldTasks()


def task_sets(rows: Iterable[tuple[str, Iterable[int]]]) -> dict[str, frozenset[int]]:
    """Return tasks by subtopology, without subtopologies that have no tasks."""
    found = {subtopology: frozenset(numbers) for subtopology, numbers in rows}
    return {subtopology: numbers for subtopology, numbers in found.items() if numbers}


def each_task(tasks: Mapping[str, Iterable[int]]) -> Iterator[Task]:
    """Return tasks one by one."""
    for subtopology, numbers in tasks.items():
        for number in numbers:
            yield subtopology, number


def _overlap(tasks: Mapping[str, frozenset[int]], held: Mapping[str, Iterable[int]]) -> bool:
    return any(not numbers.isdisjoint(held.get(subtopology, ())) for subtopology, numbers in tasks.items())


def _are_within(tasks: Mapping[str, frozenset[int]], held: Mapping[str, Iterable[int]]) -> bool:
    return all(numbers <= set(held.get(subtopology, ())) for subtopology, numbers in tasks.items())
