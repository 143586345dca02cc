"""Offsets of partitions as Java's `Admin` lists them, and the records before an offset deleted."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.admin.errors import JavaError, error_of_code
from kcompat.protocol.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.protocol.message import Message
    from kcompat.topics import TopicPartition


class At(IntEnum):
    """Special timestamps of ListOffsets, such as the latest offset (`OffsetSpec`)."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class FoundOffset(Struct, frozen=True):
    """An offset and its timestamp in ms; -1 for none."""

    offset: int
    timestamp: int


def list_offsets(
    admin: AdminClient, wanted: Mapping[TopicPartition, int], *, isolation_level: int = 0
) -> dict[TopicPartition, FoundOffset | JavaError]:
    """Return the offset at a timestamp, or at one of `At`, of each partition, or the partition's error.

    Raises:
        JavaError: the leaders are not known.
    """
    from kcompat.protocol.messages.list_offsets import ListOffsetsRequest

    if not wanted:
        return {}

    def request(partitions: Iterable[TopicPartition]) -> Message:
        topics: dict[str, ListOffsetsRequest.ListOffsetsTopic] = {}
        for name, index in partitions:
            topic = topics.setdefault(name, ListOffsetsRequest.ListOffsetsTopic(name, []))
            topic.partitions.append(
                ListOffsetsRequest.ListOffsetsPartition(index, timestamp=wanted[name, index])
            )
        return ListOffsetsRequest(-1, isolation_level, list(topics.values()), 30_000)

    return by_leader(
        admin, wanted, request, lambda row: FoundOffset(row.offset, row.timestamp), "listOffsets"
    )


def delete_records(
    admin: AdminClient, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | JavaError]:
    """Delete the records before an offset (-1: the high watermark) of each partition; return the offset of
    the first record that is left, or the partition's error.
    """
    from kcompat.protocol.messages.delete_records import DeleteRecordsRequest

    def request(partitions: Iterable[TopicPartition]) -> Message:
        topics: dict[str, DeleteRecordsRequest.DeleteRecordsTopic] = {}
        for name, index in partitions:
            topic = topics.setdefault(name, DeleteRecordsRequest.DeleteRecordsTopic(name, []))
            topic.partitions.append(DeleteRecordsRequest.DeleteRecordsPartition(index, before[name, index]))
        return DeleteRecordsRequest(list(topics.values()), admin.settings.milliseconds("request.timeout.ms"))

    return by_leader(admin, before, request, lambda row: row.low_watermark, "deleteRecords")


def by_leader(
    admin: AdminClient,
    partitions: Iterable[TopicPartition],
    request: Callable[[Iterable[TopicPartition]], Message],
    result: Callable[[Any], Any],
    name: str,
) -> dict[TopicPartition, Any]:
    """Send each partition's leader a request and return `result(row)` of each partition's row, or its error.

    Requests about partitions with a retriable error, or whose leader cannot be reached, are repeated, to the
    leader at that time. The response must have `topics` with `partitions`.
    """
    left = dict.fromkeys(partitions)
    found: dict[TopicPartition, Any] = {}
    for _ in admin.attempts(name):
        leaders = _leaders(admin, {topic for topic, _ in left}, name)
        requests: dict[int, list[TopicPartition]] = {}
        for each in list(left):
            leader = leaders.get(each, error_of_code(3))
            if isinstance(leader, JavaError):
                found[each] = leader
                if leader.code is None or not leader.code.retriable or leader.code == 3:
                    del left[each]
            else:
                requests.setdefault(leader, []).append(each)
        responses = admin.ask_each({key: request(each) for key, each in requests.items()}, name=name)
        for broker_id, response in responses.items():
            if isinstance(response, JavaError):
                found |= dict.fromkeys(requests[broker_id], response)
                for each in requests[broker_id]:
                    del left[each]
                continue
            for topic in response.topics:
                for row in topic.partitions:
                    each = topic.name, row.partition_index
                    found[each] = error_of_code(row.error_code) if row.error_code else result(row)
                    if not error_of(row.error_code).retriable:
                        left.pop(each, None)
        if not left:
            break
    return found


def _leaders(admin: AdminClient, topics: Iterable[str], name: str) -> dict[TopicPartition, int | JavaError]:
    """Return the leader of each partition, or the error of it or its topic, whose partitions are unknown."""
    found: dict[TopicPartition, int | JavaError] = {}
    for topic in admin.topics(sorted(topics), name=name).topics:
        for each in topic.partitions:
            error = each.error_code or (5 if each.leader_id < 0 else 0)
            found[topic.name or "", each.partition_index] = error_of_code(error) if error else each.leader_id
    return found
