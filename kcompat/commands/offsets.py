"""Committed offsets of groups, as several commands need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import raise_for
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest

if TYPE_CHECKING:
    from kcompat.admin.client import AdminClient
    from kcompat.topics import TopicPartition

_GROUP: Final = 0
_FIRST_OF_GROUPS: Final = 8
"""Version of OffsetFetch from which one request can be about several groups."""
_LAST_WITH_NAMES: Final = 9
_NO_OFFSET: Final = -1


class Offset(msgspec.Struct, frozen=True):
    """An offset and the leader epoch that belongs to it, -1 if unknown."""

    offset: int
    epoch: int = -1


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
