"""The assignor of share groups: each partition has at least one member, and loads are about even.

A partition has several members if there are more members than partitions. If all members subscribe to the
same topics, the partitions of all topics are assigned together, else those of each topic separately. Members
keep as many of their partitions as even loads allow. Kafka's counterpart: `SimpleAssignor`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.group.assignors.spec import GroupSpec

TopicIdPartition = tuple[bytes, int]


class SimpleAssignor:
    """Assignor `simple`: any member that subscribes to a topic may share its partitions, with even loads."""

    name = "simple"

    def assign(self, spec: GroupSpec) -> Mapping[str, Mapping[bytes, frozenset[int]]]:
        topics = sorted({topic for member in spec.members.values() for topic in member.topics})
        wholes = [topics] if spec.is_homogeneous else [[topic] for topic in topics]
        found: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in spec.members}
        for whole in wholes:
            partitions = [(topic, index) for topic in whole for index in spec.partitions_of(topic)]
            members = sorted(
                member_id for member_id, member in spec.members.items() if member.topics.issuperset(whole)
            )
            held = {member_id: _held(spec, member_id, set(partitions)) for member_id in members}
            for member_id, given in _share_out(members, partitions, held).items():
                for topic, index in given:
                    found[member_id].setdefault(topic, set()).add(index)
        return {
            member_id: {topic: frozenset(indexes) for topic, indexes in topics_of.items()}
            for member_id, topics_of in found.items()
        }


def _held(spec: GroupSpec, member_id: str, of: set[TopicIdPartition]) -> list[TopicIdPartition]:
    target = spec.members[member_id].target
    return sorted(
        key for topic, indexes in target.items() for index in indexes if (key := (topic, index)) in of
    )


def _share_out(
    members: Sequence[str],
    partitions: Sequence[TopicIdPartition],
    held: Mapping[str, Sequence[TopicIdPartition]],
) -> dict[str, list[TopicIdPartition]]:
    """Return the partitions of each member.

    If there are more members than partitions, several members share a partition, so that each member has one.
    """
    if not members or not partitions:
        return {}
    sharing = -(-len(members) // len(partitions))
    wanted = _wanted(members, sharing * len(partitions))
    given: dict[str, list[TopicIdPartition]] = {}
    holders: dict[TopicIdPartition, set[str]] = {partition: set() for partition in partitions}
    for member_id in members:
        kept = [partition for partition in held[member_id] if len(holders[partition]) < sharing]
        given[member_id] = kept[: wanted[member_id]]
        for partition in given[member_id]:
            holders[partition].add(member_id)
    unfilled = deque(member_id for member_id in members if len(given[member_id]) < wanted[member_id])
    for partition, having in holders.items():
        for _ in range(len(unfilled)):
            if len(having) == sharing:
                break
            member_id = unfilled.popleft()
            if member_id not in having:
                having.add(member_id)
                given[member_id].append(partition)
            if len(given[member_id]) < wanted[member_id]:
                unfilled.append(member_id)
    return given


def _wanted(members: Sequence[str], total: int) -> dict[str, int]:
    """Return the number of partitions that each member gets; the sum is `total`."""
    count = len(members)
    return {
        member_id: -(-total * (place + 1) // count) + (-total * place // count)
        for place, member_id in enumerate(members)
    }
