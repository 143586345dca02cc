"""A member of a fresh group by its bare requests: from the join to the first record."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from frames import fetch_request

from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from support.raw_client import RawClient

EARLIEST = -2
SESSION_MS = 10_000
FETCH_BYTES = 1 << 20
NOT_YET = (14, 15, 16)
"""Errors after which to ask again: the coordinator is loading, does not exist yet, is another broker."""


def await_coordinator(connection: RawClient, group: str) -> None:
    """Ask for the group's coordinator until it serves: the first time its topic has to be made."""
    questions = (FindCoordinatorRequest(key=group), 2), (OffsetFetchRequest(group_id=group, topics=None), 5)
    while any(connection.call(*question).error_code in NOT_YET for question in questions):
        time.sleep(0.01)


def first_record(connection: RawClient, group: str, topic: str) -> int:
    """Join, sync, look for a committed offset, then for the earliest one, and fetch; bytes of records got."""
    _expect_none(connection.call(FindCoordinatorRequest(key=group), 2).error_code)
    join(connection, group)
    committed = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[0])
    _expect_none(connection.call(OffsetFetchRequest(group_id=group, topics=[committed]), 5).error_code)
    partition = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=0, current_leader_epoch=-1, timestamp=EARLIEST
    )
    wanted = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[partition])
    connection.call(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 4)
    fetched = connection.call(fetch_request(topic, 0, FETCH_BYTES), 11)
    return len(fetched.responses[0].partitions[0].records or b"")


def join(connection: RawClient, group: str, session_ms: int = SESSION_MS) -> tuple[str, int]:
    """Member id and generation of the only member of a group, which has its assignment then."""
    member, generation = _join(connection, group, session_ms)
    assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=b"all")
    request = SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=member, assignments=[assignment]
    )
    _expect_none(connection.call(request, 3).error_code)
    return member, generation


def _join(connection: RawClient, group: str, session_ms: int) -> tuple[str, int]:
    """Member id and generation; the first request is told the id to come back with (KIP-394)."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"all")
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=session_ms,
        protocol_type="consumer",
        protocols=[protocol],
    )
    request.member_id = connection.call(request, 5).member_id
    joined = connection.call(request, 5)
    _expect_none(joined.error_code)
    return joined.member_id, joined.generation_id


def _expect_none(error_code: int) -> None:
    if error_code:
        raise RuntimeError(f"a group request was answered with error {error_code}")
