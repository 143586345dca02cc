"""Conversion of LeaderAndIsr requests and responses, in every version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import (
    AssignedPartition,
    LeaderAndIsr,
    Reply,
    Role,
)
from kcompat.cluster.image import BrokerInfo
from kcompat.peer import leader_and_isr
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kcompat.protocol.uuids import ZERO_UUID
from support.asking import travelled

if TYPE_CHECKING:
    from collections.abc import Iterable

ONE, TWO = b"1" * 16, b"2" * 16
EPOCH = 7_000_000_000

ROLES = LeaderAndIsr(
    3,
    11,
    [
        AssignedPartition("a", ONE, 0, Role(1, 5, (1, 2), (1, 2, 3), 8, (3,), (2,), 1), is_new=True),
        AssignedPartition("b", TWO, 4, Role(-1, 6, (2,), (2, 1)), is_new=False),
        AssignedPartition("a", ONE, 2, Role(2, 0, (2,), (2,)), is_new=False),
    ],
    [BrokerInfo(1, None, {"INSIDE": ("one", 9092)}), BrokerInfo(2, None, {"INSIDE": ("two", 9093)})],
)


def by_key(partitions: Iterable[AssignedPartition]) -> list[AssignedPartition]:
    return sorted(partitions, key=lambda each: (each.topic, each.index))


@pytest.mark.parametrize("version", range(8))
def test_roles_travel_in_every_version(version: int) -> None:
    request = travelled(leader_and_isr.request_of(ROLES, version, EPOCH, "INSIDE"), version)
    assert request.broker_epoch == (EPOCH if version >= 2 else -1)
    news = leader_and_isr.control_request_of(request, "INSIDE")
    assert (news.controller_id, news.controller_epoch) == (3, 11)
    assert news.live_leaders == ROLES.live_leaders
    expected = []
    for each in ROLES.partitions:
        role = each.role
        known = Role(
            role.leader,
            role.leader_epoch,
            role.isr,
            role.replicas,
            role.partition_epoch,
            role.adding if version >= 3 else (),
            role.removing if version >= 3 else (),
            role.leader_recovery_state if version >= 6 else 0,
        )
        topic_id = each.topic_id if version >= 5 else ZERO_UUID
        expected.append(
            AssignedPartition(each.topic, topic_id, each.index, known, each.is_new and version >= 1)
        )
    assert by_key(news.partitions) == by_key(expected)


@pytest.mark.parametrize("version", range(8))
def test_the_errors_of_roles_travel_in_every_version(version: int) -> None:
    request = travelled(leader_and_isr.request_of(ROLES, version, EPOCH, "INSIDE"), version)
    asked = leader_and_isr.control_request_of(request, "INSIDE").partitions
    reply = Reply(
        partitions={("a", 2): ErrorCode.KAFKA_STORAGE_ERROR, ("b", 4): ErrorCode.STALE_CONTROLLER_EPOCH}
    )
    response = travelled(leader_and_isr.response_of(asked, reply, version), version)
    rows = response.partition_errors or [row for topic in response.topics for row in topic.partition_errors]
    assert sorted(row.error_code for row in rows) == [0, 11, 56]
    assert leader_and_isr.reply_of(response, ROLES) == reply


@pytest.mark.parametrize("version", range(8))
def test_an_error_of_the_whole_request_stands_in_every_row(version: int) -> None:
    reply = Reply(ErrorCode.STALE_BROKER_EPOCH)
    response = travelled(leader_and_isr.response_of(ROLES.partitions, reply, version), version)
    rows = response.partition_errors or [row for topic in response.topics for row in topic.partition_errors]
    assert [row.error_code for row in rows] == [77] * 3
    assert leader_and_isr.reply_of(response, ROLES).error == ErrorCode.STALE_BROKER_EPOCH


def test_an_error_that_is_not_known_is_one_nobody_expected() -> None:
    response = LeaderAndIsrResponse(error_code=9999)
    assert leader_and_isr.reply_of(response, ROLES).error == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_leader_that_is_not_reached_among_brokers_is_left_out() -> None:
    news = LeaderAndIsr(1, 1, [], [BrokerInfo(1, None, {"OUTSIDE": ("one", 9092)})])
    assert leader_and_isr.request_of(news, 7, EPOCH, "INSIDE").live_leaders == []
