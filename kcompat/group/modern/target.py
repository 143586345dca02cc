"""The next target assignment: what an assignor is asked, and what of its answer is news.

Kafka's counterpart: `TargetAssignmentBuilder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat.group.modern.assignment import NO_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.coordinator.timeline import TimelineDict
    from kcompat.group.assignors.spec import Assignor, GroupSpec
    from kcompat.group.modern.group import Header

T = TypeVar("T")


def may_assign_again(header: Header, interval_ms: int, now_ms: int) -> bool:
    """Whether the next target assignment may be made already: not more often than every `interval_ms`, but at
    once where it is not known when the last one was.
    """
    last_ms = header.assignment_timestamp
    return not last_ms or not interval_ms or now_ms >= last_ms + interval_ms


def assign(assignor: Assignor, spec: GroupSpec) -> dict[str, Mapping[bytes, frozenset[int]]]:
    """The target of each member of the group, empty for those that the assignor does not name."""
    found = assignor.assign(spec)
    return {member_id: found.get(member_id, NO_PARTITIONS) for member_id in spec.members}


def news(known: TimelineDict[str, T], targets: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    """The targets that are others than those known, members of whom none is known included."""
    for member_id, target in targets.items():
        if known.get(member_id) != target:
            yield member_id, target
