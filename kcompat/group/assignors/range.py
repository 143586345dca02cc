"""The range assignor: each subscriber of a topic gets a range of its partitions, in the order of the members.

If all topics have the same number of partitions, partitions with the same index go to the same member, as
joins require. Static members come first, in the order of their instance ids, so that they keep their ranges
when they return under another member id. Kafka's counterpart: `RangeAssignor`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.group.modern.topics import java_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.assignors.spec import GroupSpec, MemberSpec


class RangeAssignor:
    """Assignor `range`: each member gets a range of each topic's partitions, in the order of the members."""

    name = "range"

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, frozenset[int]]]:
        """Return the next targets, which do not depend on the previous ones."""
        members = sorted(spec.members.items(), key=_place)
        subscribers = Counter(topic_id for _, member in members for topic_id in member.topics)
        served: Counter[bytes] = Counter()
        targets: dict[str, dict[bytes, frozenset[int]]] = {}
        for member_id, member in members:
            target = targets[member_id] = {}
            for topic_id in sorted(member.topics):
                run = _run(spec.partition_counts[topic_id], subscribers[topic_id], served[topic_id])
                served[topic_id] += 1
                if run:
                    target[topic_id] = frozenset(run)
        return targets


def _place(entry: tuple[str, MemberSpec]) -> tuple[bool, bytes]:
    member_id, member = entry
    if member.instance_id is not None:
        return False, java_order(member.instance_id)
    return True, java_order(member_id)


def _run(partitions: int, members: int, position: int) -> range:
    """Return the partitions of the member at `position` of `members`; the first members may have one more
    than the others.
    """
    share, extra = divmod(partitions, members)
    start = position * share + min(position, extra)
    return range(start, start + share + (position < extra))
