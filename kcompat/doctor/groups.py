"""Checks of consumer groups: rebalances that do not end, lag, and offsets whose records are gone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import JavaError
from kcompat.commands.groups.descriptions import describe_group, list_groups
from kcompat.commands.groups.reading import first_and_last
from kcompat.commands.offsets import committed_offsets
from kcompat.doctor.brokers import not_allowed
from kcompat.doctor.finding import error, some, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.doctor.finding import Finding
    from kcompat.topics import TopicPartition

LOOK_AGAIN_S: Final = 2.0
"""Seconds between the two checks of a group that rebalances."""
MOST_GROUPS: Final = 200
"""Maximum number of groups whose offsets are checked."""

_REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


def look_at_groups(
    admin: AdminClient, leaders: Mapping[TopicPartition, int], most_lag: int
) -> Iterator[Finding]:
    """Yield the faults of groups. A group lags if it is more than `most_lag` records behind."""
    try:
        listed = list_groups(admin)
        yield from _look_at_rebalances(admin, [each.group_id for each in listed if _rebalances(each.state)])
        yield from _look_at_offsets(admin, [each.group_id for each in listed], leaders, most_lag)
    except JavaError as fault:
        yield not_allowed("groups", fault)


def _rebalances(state: str) -> bool:
    return state in _REBALANCING


def _look_at_rebalances(admin: AdminClient, suspects: list[str]) -> Iterator[Finding]:
    """Yield groups that are rebalancing at two checks some seconds apart."""
    if not suspects:
        return
    time.sleep(LOOK_AGAIN_S)
    still = [name for name in suspects if _rebalances(describe_group(admin, name).state)]
    if still:
        yield warning(
            "group-rebalances",
            f"groups rebalance for more than {LOOK_AGAIN_S:g} s, or again and again: {some(still)}",
            "Look for members that join and leave: max.poll.interval.ms or session.timeout.ms may be too "
            "short for their work, or members may crash.",
        )


def _look_at_offsets(
    admin: AdminClient, groups: list[str], leaders: Mapping[TopicPartition, int], most_lag: int
) -> Iterator[Finding]:
    committed = {name: committed_offsets(admin, name) for name in groups[:MOST_GROUPS]}
    wanted = {key for each in committed.values() for key in each if leaders.get(key, -1) >= 0}
    first, last = first_and_last(admin, wanted)
    lost, late = [], []
    for name, offsets in committed.items():
        gone = [key for key, each in offsets.items() if key in first and each.offset < first[key]]
        lag = sum(last[key] - max(each.offset, 0) for key, each in offsets.items() if key in last)
        if gone:
            lost.append(f"{name} in {some(f'{topic}-{index}' for topic, index in sorted(gone))}")
        elif lag > most_lag:
            late.append(f"{name} by {lag:,} records")
    if lost:
        yield error(
            "group-lost-records",
            f"records were deleted before groups had read them: {some(lost)}",
            "Read faster, or keep records longer (retention.ms counts from the timestamps of the records); "
            "auto.offset.reset decides where they go on.",
        )
    if late:
        yield warning(
            "group-lags",
            f"groups are behind: {some(late)}",
            "Start more members, up to the number of partitions, or look into why they are slow.",
        )
