"""The uniform assignor: members get about equally many partitions, and keep as many of theirs as possible.

Kafka processes members and topics in the order of its hash tables, kcompat in sorted order; the guarantees
are the same. Kafka's counterpart: `UniformAssignor`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kcompat.group.assignors.uneven import assign_uneven

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.assignors.spec import GroupSpec


class UniformAssignor:
    """Assignor `uniform`: all members get about equally many partitions, and as few as possible move."""

    name = "uniform"

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, frozenset[int]]]:
        """Return the next targets: as even as possible first, then as similar to the previous ones as
        possible.
        """
        if not spec.members:
            return {}
        return _assign_even(spec) if spec.is_homogeneous else assign_uneven(spec)


def _assign_even(spec: GroupSpec) -> dict[str, dict[bytes, frozenset[int]]]:
    """Return the targets of members that subscribe to the same topics: their sizes differ by at most one."""
    topics = next(iter(spec.members.values())).topics
    counts = {topic_id: spec.partition_counts[topic_id] for topic_id in sorted(topics)}
    quota, extra = divmod(sum(counts.values()), len(spec.members))
    unowned = dict.fromkeys((topic_id, index) for topic_id, count in counts.items() for index in range(count))
    kept: dict[str, list[tuple[bytes, int]]] = {}
    room: dict[str, int] = {}
    waiting = len(spec.members)
    for member_id in sorted(spec.members):
        mine = [
            (topic_id, index)
            for topic_id, indexes in sorted(spec.members[member_id].target.items())
            for index in sorted(indexes)
            if (topic_id, index) in unowned
        ]
        # The additional partition beyond the quota goes to members that own it already, or else to the last
        # members that can take it.
        takes_extra = extra > 0 and (len(mine) > quota or waiting <= extra)
        limit = quota + takes_extra
        extra -= takes_extra
        waiting -= 1
        kept[member_id] = mine[:limit]
        for partition in kept[member_id]:
            del unowned[partition]
        room[member_id] = limit - len(kept[member_id])
    left = iter(unowned)
    for member_id, places in room.items():
        kept[member_id] += islice(left, places)
    assert next(left, None) is None
    return {member_id: _by_topic(mine) for member_id, mine in kept.items()}


def _by_topic(partitions: list[tuple[bytes, int]]) -> dict[bytes, frozenset[int]]:
    found: dict[bytes, set[int]] = {}
    for topic_id, index in partitions:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
