"""Computation of the next target assignment: the input of the assignor, and the changes in its result.

Kafka's counterpart: `TargetAssignmentBuilder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat.group.assignors.spec import NO_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.coordinator.timeline import TimelineDict
    from kcompat.group.assignors.spec import Assignor, GroupSpec
    from kcompat.group.modern.group import GroupHeader

T = TypeVar("T")


def may_assign_again(header: GroupHeader, interval_ms: int, now_ms: int) -> bool:
    """Return whether a new target assignment may be made: `interval_ms` after the last one, or at once if its
    time is unknown.
    """
    last_ms = header.assignment_timestamp
    return not last_ms or not interval_ms or now_ms >= last_ms + interval_ms


def assign(assignor: Assignor, spec: GroupSpec) -> dict[str, Mapping[bytes, frozenset[int]]]:
    """Return the target of each member of the group, empty for members that the assignor leaves out."""
    found = assignor.assign(spec)
    return {member_id: found.get(member_id, NO_PARTITIONS) for member_id in spec.members}


def changed_targets(known: TimelineDict[str, T], targets: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    """Return the targets that have changed, including those of members without a previous target."""
    for member_id, target in targets.items():
        if known.get(member_id) != target:
            yield member_id, target
