"""Descriptions of the groups of running brokers, read by the requests that admin clients send."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from kcompat.errors import RequestError
from kcompat.group.mixed.embedded import read_message
from kcompat.instrumentation.asking import ask
from kcompat.instrumentation.groups import UNKNOWN, Group, GroupMember, GroupOffset, Partitions
from kcompat.protocol.errors import error_of
from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kcompat.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.instrumentation.brokers import Brokers
    from kcompat.node.parts import Parts

LOADING_TIMEOUT_S: Final = 30.0

_LIST_VERSION: Final = 5
_FETCH_VERSION: Final = 9  # the last one that names topics
_SHARE_OFFSETS_VERSION: Final = 1
_BETWEEN_CHECKS_S: Final = 0.005


async def describe_groups(brokers: Brokers) -> dict[str, Group]:
    """Return the groups by id, in the order of their ids.

    Raises:
        TimeoutError: a broker has not loaded its groups within 30 seconds.
    """
    found: dict[str, Group] = {}
    async with brokers.steady():
        for parts in brokers.parts:
            await _until_loaded(parts)
            for row in (await ask(parts, ListGroupsRequest(), _LIST_VERSION)).groups:
                if row.group_id not in found:  # a broker that is isolated may take itself for the coordinator
                    found[row.group_id] = await _group(brokers, parts, row.group_id, row.group_type.lower())
                    await asyncio.sleep(0)  # let the broker serve its clients
    return dict(sorted(found.items()))


async def _until_loaded(parts: Parts) -> None:
    groups = parts.coordinators.groups
    try:
        async with asyncio.timeout(LOADING_TIMEOUT_S):
            while groups.runtime.is_loading:  # noqa: ASYNC110
                # Loading takes milliseconds, and no event marks its end.
                await asyncio.sleep(_BETWEEN_CHECKS_S)
    except TimeoutError as error:
        raise TimeoutError(f"the groups are not loaded within {LOADING_TIMEOUT_S:.0f} s") from error


async def _group(brokers: Brokers, parts: Parts, group_id: str, kind: str) -> Group:
    describe, describe_version, read = _KINDS[kind]
    (row,) = (await ask(parts, describe(group_id), describe_version)).groups
    if row.error_code:
        error = error_of(row.error_code)
        raise RequestError(error.name, f"group {group_id!r}: {row.error_message or error.message}")
    offsets = _share_offsets if kind == "share" else _committed_offsets
    return Group(
        group_id,
        kind,
        row.group_state,
        getattr(row, "protocol_type", ""),
        row.protocol_data if kind == "classic" else getattr(row, "assignor_name", None) or "",
        getattr(row, "group_epoch", UNKNOWN),
        read(row, brokers.image),
        sorted(await offsets(brokers, parts, group_id), key=lambda each: (each.topic, each.partition)),
    )


async def _committed_offsets(brokers: Brokers, parts: Parts, group_id: str) -> list[GroupOffset]:
    wanted = OffsetFetchRequest.OffsetFetchRequestGroup(group_id, topics=None)
    (row,) = (await ask(parts, OffsetFetchRequest(groups=[wanted]), _FETCH_VERSION)).groups
    found = []
    for topic in row.topics:
        for each in topic.partitions:
            end = _end(brokers, topic.name, each.partition_index)
            lag = max(end - each.committed_offset, 0) if end >= 0 else UNKNOWN
            found.append(
                GroupOffset(
                    topic.name, each.partition_index, each.committed_offset, end, lag, each.metadata or ""
                )
            )
    return found


async def _share_offsets(brokers: Brokers, parts: Parts, group_id: str) -> list[GroupOffset]:
    wanted = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[wanted])
    (row,) = (await ask(parts, request, _SHARE_OFFSETS_VERSION)).groups
    return [
        GroupOffset(
            topic.topic_name,
            each.partition_index,
            each.start_offset,
            _end(brokers, topic.topic_name, each.partition_index),
            each.lag,
        )
        for topic in row.topics
        for each in topic.partitions
    ]


def _end(brokers: Brokers, topic: str, index: int) -> int:
    home = brokers.home_of(topic, index)
    return UNKNOWN if home is None else home[1].high_watermark


def _classic_members(row: Any, _image: ClusterImage) -> list[GroupMember]:
    """Return the members of a classic group. Subscriptions and assignments are known if the members are
    consumers.
    """
    members = []
    for each in row.members:
        is_consumer = row.protocol_type == "consumer"
        subscribed = read_message(ConsumerProtocolSubscription, each.member_metadata) if is_consumer else None
        assigned = read_message(ConsumerProtocolAssignment, each.member_assignment) if is_consumer else None
        rows = assigned.assigned_partitions if assigned else ()
        members.append(
            GroupMember(
                each.member_id,
                each.client_id,
                each.client_host,
                each.group_instance_id,
                rack=subscribed.rack_id if subscribed else None,
                subscription=sorted(subscribed.topics) if subscribed else [],
                assignment=_ordered((row.topic, row.partitions) for row in rows),
            )
        )
    return members


def _consumers(row: Any, _image: ClusterImage) -> list[GroupMember]:
    return [
        GroupMember(
            each.member_id,
            each.client_id,
            each.client_host,
            each.instance_id,
            each.rack_id,
            each.member_epoch,
            sorted(each.subscribed_topic_names),
            each.subscribed_topic_regex or None,
            _assigned(each.assignment),
            _assigned(each.target_assignment),
        )
        for each in row.members
    ]


def _sharers(row: Any, _image: ClusterImage) -> list[GroupMember]:
    return [
        GroupMember(
            each.member_id,
            each.client_id,
            each.client_host,
            rack=each.rack_id,
            epoch=each.member_epoch,
            subscription=sorted(each.subscribed_topic_names),
            assignment=_assigned(each.assignment),
        )
        for each in row.members
    ]


def _streams_members(row: Any, image: ClusterImage) -> list[GroupMember]:
    subtopologies = (row.topology.subtopologies or ()) if row.topology else ()
    sources = {
        each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
        for each in subtopologies
    }
    topics = sorted({name for each in subtopologies for name in each.source_topics})
    return [
        GroupMember(
            each.member_id,
            each.client_id,
            each.client_host,
            each.instance_id,
            each.rack_id,
            each.member_epoch,
            topics,
            assignment=_partitions_of_tasks(each.assignment.active_tasks, sources, image),
            tasks={
                "active": _tasks(each.assignment.active_tasks),
                "standby": _tasks(each.assignment.standby_tasks),
                "warmup": _tasks(each.assignment.warmup_tasks),
            },
        )
        for each in row.members
    ]


def _partitions_of_tasks(
    tasks: Iterable[Any], sources: Mapping[str, list[str]], image: ClusterImage
) -> Partitions:
    """Return the partitions from which tasks read: of each source topic the one with the task's number."""
    found: dict[str, list[int]] = {}
    for row in tasks:
        for topic in sources.get(row.subtopology_id, ()):
            found.setdefault(topic, []).extend(
                index for index in row.partitions if image.partition(topic, index) is not None
            )
    return _ordered(found.items())


def _tasks(rows: Iterable[Any]) -> list[str]:
    """Return the ids of tasks as Kafka Streams writes them: subtopology and partition."""
    return [f"{row.subtopology_id}_{index}" for row in rows for index in sorted(row.partitions)]


def _assigned(assignment: Any) -> Partitions:
    return _ordered((row.topic_name, row.partitions) for row in assignment.topic_partitions)


def _ordered(rows: Iterable[tuple[str, Iterable[int]]]) -> Partitions:
    return {topic: sorted(indexes) for topic, indexes in sorted(rows) if indexes}


_KINDS: Final[
    dict[str, tuple[Callable[[str], Any], int, Callable[[Any, ClusterImage], list[GroupMember]]]]
] = {
    "classic": (lambda name: DescribeGroupsRequest(groups=[name]), 6, _classic_members),
    "consumer": (lambda name: ConsumerGroupDescribeRequest(group_ids=[name]), 1, _consumers),
    "share": (lambda name: ShareGroupDescribeRequest(group_ids=[name]), 1, _sharers),
    "streams": (lambda name: StreamsGroupDescribeRequest(group_ids=[name]), 0, _streams_members),
}
"""The request that describes a group, its version, and the function that reads the members, by kind."""
