"""Committed offsets of groups, and offsets of partitions by time, as several commands need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.topics import TopicPartition

EARLIEST: Final = -2
"""Timestamp that stands for the first offset."""
LATEST: Final = -1
"""Timestamp that stands for the log end."""

_GROUP: Final = 0
_FIRST_OF_GROUPS: Final = 8
"""Version of OffsetFetch from which one request can be about several groups."""
_LAST_WITH_NAMES: Final = 9
_CONSUMER: Final = -1
_NO_OFFSET: Final = -1


class Offset(msgspec.Struct, frozen=True):
    """An offset and the leader epoch that belongs to it, -1 if unknown."""

    offset: int
    epoch: int = -1
    timestamp: int = -1
    """Time of the record in ms, where it was asked for; -1 if unknown."""


def committed_offsets(admin: AdminClient, group_id: str) -> dict[TopicPartition, Offset]:
    """Return the committed offsets of a group, in the order of the partitions.

    Raises:
        JavaError: the coordinator refuses the request.
    """

    def make(version: int) -> OffsetFetchRequest:
        if version < _FIRST_OF_GROUPS:
            return OffsetFetchRequest(group_id, None)
        return OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id, topics=None)])

    request = Versioned(ApiKey.OFFSET_FETCH, make, _LAST_WITH_NAMES)
    response = admin.ask_coordinator(_GROUP, group_id, request, name="listConsumerGroupOffsets")
    rows = response.groups[0] if response.groups else response
    raise_for(rows.error_code)
    found = {}
    for topic in rows.topics:
        for row in topic.partitions:
            raise_for(row.error_code)
            if row.committed_offset != _NO_OFFSET:
                key = topic.name, row.partition_index
                found[key] = Offset(row.committed_offset, row.committed_leader_epoch)
    return dict(sorted(found.items()))


def offsets_at(
    admin: AdminClient,
    times: Mapping[TopicPartition, int],
    leaders: Mapping[TopicPartition, int],
    isolation: int = 0,
) -> dict[TopicPartition, Offset | JavaError]:
    """Return the first offset of each partition at or after a time in ms, or at `EARLIEST` or `LATEST`.

    The offset is -1 if all records are earlier. `leaders` are the ids of the leaders; with `isolation` 1 the
    last offset is the last stable one.
    """
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    for partition, timestamp in times.items():
        by_leader.setdefault(leaders[partition], {})[partition] = timestamp
    requests = {leader: _request(wanted, isolation) for leader, wanted in by_leader.items()}
    found: dict[TopicPartition, Offset | JavaError] = {}
    for leader, response in admin.ask_each(requests, name="listOffsets").items():
        if isinstance(response, JavaError):
            found |= dict.fromkeys(by_leader[leader], response)
            continue
        for topic in response.topics:
            for row in topic.partitions:
                found[topic.name, row.partition_index] = (
                    error_of_code(row.error_code)
                    if row.error_code
                    else Offset(row.offset, row.leader_epoch, row.timestamp)
                )
    return found


def _request(times: Mapping[TopicPartition, int], isolation: int) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for (topic, index), timestamp in sorted(times.items()):
        row = ListOffsetsRequest.ListOffsetsPartition(index, timestamp=timestamp)
        topics.setdefault(topic, []).append(row)
    rows = [ListOffsetsRequest.ListOffsetsTopic(*item) for item in topics.items()]
    return ListOffsetsRequest(_CONSUMER, isolation, rows)
