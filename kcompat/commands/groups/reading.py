"""Partitions, leaders, and first and last offsets of topics, as the commands on groups need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.offsets import At, list_offsets
from kcompat.commands.groups.descriptions import wrapped
from kcompat.commands.groups.tables import OffsetRow
from kcompat.commands.offsets import committed_offsets
from kcompat.commands.output import execution_error
from kcompat.protocol.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kcompat.admin.client import AdminClient
    from kcompat.commands.groups.descriptions import GroupDescription, Member
    from kcompat.commands.offsets import Offset
    from kcompat.protocol.errors import ErrorCode
    from kcompat.topics import TopicPartition


def partitions_of(admin: AdminClient, topics: Iterable[str]) -> dict[TopicPartition, int]:
    """Return the leaders of all partitions of topics, -1 for none, in their order.

    Raises:
        JavaError: a topic is not there, or the client may not see it.
    """
    names = sorted(set(topics))
    return dict(sorted(admin.leaders(names).items())) if names else {}


def known_partitions(
    admin: AdminClient, topics: Iterable[str]
) -> tuple[dict[TopicPartition, int], dict[str, ErrorCode]]:
    """Return the leaders of the partitions of topics, and the errors of the topics that are not there."""
    names = sorted(set(topics))
    leaders: dict[TopicPartition, int] = {}
    missing: dict[str, ErrorCode] = {}
    for row in admin.topics(names).topics if names else ():
        if row.error_code:
            missing[row.name or ""] = error_of(row.error_code)
        leaders |= {(row.name or "", each.partition_index): each.leader_id for each in row.partitions}
    return leaders, missing


def existing(admin: AdminClient, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the leaders of partitions.

    Raises:
        JavaError: a topic or a partition is not there, or a partition has no leader.
    """
    leaders, missing = known_partitions(admin, (topic for topic, _ in partitions))
    for code in missing.values():
        raise wrapped(execution_error(error_of_code(code)))
    _refuse_some("UnknownTopicOrPartitionException", "do not exist", partitions - leaders.keys())
    leaderless = {each for each in partitions if leaders[each] < 0}
    _refuse_some("LeaderNotAvailableException", "have no leader", leaderless)
    return {each: leaders[each] for each in partitions}


def _refuse_some(name: str, what: str, partitions: Collection[TopicPartition]) -> None:
    if partitions:
        shown = ",".join(f"{topic}-{index}" for topic, index in sorted(partitions))
        raise JavaError(name, f'The partitions "{shown}" {what}')


def limits(admin: AdminClient, partitions: Iterable[TopicPartition], time: int) -> dict[TopicPartition, int]:
    """Return the offsets of partitions at a time in ms, or at one of `At`; -1 for none.

    Raises:
        JavaError: a leader refuses the request.
    """
    found = {}
    for each, offset in list_offsets(admin, dict.fromkeys(partitions, time)).items():
        if isinstance(offset, JavaError):
            raise offset
        found[each] = offset.offset
    return found


def first_and_last(
    admin: AdminClient, partitions: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Return the first and the last offsets of partitions. Raises JavaError."""
    return limits(admin, partitions, At.EARLIEST), limits(admin, partitions, At.LATEST)


def offset_rows(admin: AdminClient, group: GroupDescription) -> list[OffsetRow]:
    """Return the partitions of a group: those of its members, then those that have only offsets.

    Raises:
        JavaError: the coordinator or a leader refuses a request.
    """
    committed = committed_offsets(admin, group.group_id)
    assigned = {each for member in group.members for each in member.assignment}
    everything = assigned | committed.keys()
    leaders, _ = known_partitions(admin, {topic for topic, _ in everything})
    ends = limits(admin, [each for each in everything if leaders.get(each, -1) >= 0], At.LATEST)
    readers = sorted(
        (member for member in group.members if member.assignment),
        key=lambda member: len(member.assignment),
        reverse=True,
    )
    parts: list[tuple[Member | None, Collection[TopicPartition]]] = [
        *((member, member.assignment) for member in readers),
        (None, committed.keys() - assigned),
    ]
    return [
        _row(group, each, committed.get(each), ends.get(each), member)
        for member, partitions in parts
        for each in sorted(partitions)
    ]


def _row(
    group: GroupDescription,
    partition: TopicPartition,
    offset: Offset | None,
    end: int | None,
    member: Member | None,
) -> OffsetRow:
    epoch = None if offset is None or offset.epoch < 0 else offset.epoch
    return OffsetRow(
        group.group_id, *partition, None if offset is None else offset.offset, epoch, end, member
    )
