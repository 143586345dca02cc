"""Conversion of StopReplica requests and responses, in every version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import (
    NO_LEADER_EPOCH,
    Reply,
    StoppedPartition,
    StopReplica,
)
from kcompat.peer import stop_replica
from kcompat.protocol.errors import ErrorCode
from support.asking import travelled

if TYPE_CHECKING:
    from collections.abc import Iterable
EPOCH = 7_000_000_000
STOPS = StopReplica(
    3,
    11,
    [
        StoppedPartition("a", 0, 5, True),
        StoppedPartition("b", 1, -2, True),
        StoppedPartition("a", 7, 6, True),
    ],
)


def by_key(partitions: Iterable[StoppedPartition]) -> list[StoppedPartition]:
    return sorted(partitions, key=lambda each: (each.topic, each.index))


@pytest.mark.parametrize("version", range(5))
def test_stopped_replicas_travel_in_every_version(version: int) -> None:
    request = travelled(stop_replica.request_of(STOPS, version, EPOCH), version)
    assert request.broker_epoch == (EPOCH if version >= 1 else -1)
    news = stop_replica.control_request_of(request)
    assert (news.controller_id, news.controller_epoch) == (3, 11)
    expected = [
        StoppedPartition(each.topic, each.index, each.leader_epoch if version >= 3 else NO_LEADER_EPOCH, True)
        for each in STOPS.partitions
    ]
    assert by_key(news.partitions) == by_key(expected)
    reply = Reply(partitions={("a", 7): ErrorCode.FENCED_LEADER_EPOCH})
    response = travelled(stop_replica.response_of(news.partitions, reply), version)
    assert sorted(row.error_code for row in response.partition_errors) == [0, 0, 74]
    assert stop_replica.reply_of(response) == reply


def test_what_is_kept_and_what_is_deleted_go_apart() -> None:
    kept, deleted = StoppedPartition("a", 0, 5, False), StoppedPartition("a", 1, 5, True)
    parts = stop_replica.split(StopReplica(3, 11, [deleted, kept]))
    assert parts == [StopReplica(3, 11, [kept]), StopReplica(3, 11, [deleted])]
    assert stop_replica.split(STOPS) == [STOPS]
    for version in range(5):
        flags = []
        for part in parts:
            request = travelled(stop_replica.request_of(part, version, EPOCH), version)
            flags += [each.delete for each in stop_replica.control_request_of(request).partitions]
        assert flags == [False, True]
