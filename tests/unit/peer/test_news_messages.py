"""The controller's news as requests of every version, and back; replies as responses, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.cluster.news import (
    NO_LEADER_EPOCH,
    AssignedPartition,
    LeaderAndIsr,
    Reply,
    Role,
    ShownPartition,
    StoppedPartition,
    StopReplica,
    UpdateMetadata,
)
from kcompat.peer import leader_and_isr, stop_replica, update_metadata
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest
from kcompat.protocol.uuids import ZERO_UUID
from support.asking import travelled

if TYPE_CHECKING:
    from collections.abc import Iterable

P = TypeVar("P", AssignedPartition, ShownPartition, StoppedPartition)

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
STOPS = StopReplica(
    3,
    11,
    [
        StoppedPartition("a", 0, 5, True),
        StoppedPartition("b", 1, -2, True),
        StoppedPartition("a", 7, 6, True),
    ],
)
SHOWN = UpdateMetadata(
    3,
    11,
    {
        1: BrokerInfo(
            1,
            "r1",
            {"PLAINTEXT": ("one", 9092), "SSL": ("one", 9093)},
            {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL"},
        ),
        2: BrokerInfo(2, None, {"PLAINTEXT": ("two", 9092)}, {"PLAINTEXT": "PLAINTEXT"}),
    },
    [
        ShownPartition("a", ONE, 0, PartitionInfo(1, 5, (1, 2), (1, 2, 3), (3,))),
        ShownPartition("b", TWO, 1, PartitionInfo(-2, 6, (), (2,))),
        ShownPartition("a", ONE, 3, PartitionInfo(-1, 0, (2,), (2, 1))),
    ],
)


def by_key(partitions: Iterable[P]) -> list[P]:
    return sorted(partitions, key=lambda each: (each.topic, each.index))


@pytest.mark.parametrize("version", range(8))
def test_roles_travel_in_every_version(version: int) -> None:
    request = travelled(leader_and_isr.request_of(ROLES, version, EPOCH, "INSIDE"), version)
    assert request.broker_epoch == (EPOCH if version >= 2 else -1)
    news = leader_and_isr.news_of(request, "INSIDE")
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
    asked = leader_and_isr.news_of(request, "INSIDE").partitions
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


@pytest.mark.parametrize("version", range(5))
def test_stopped_replicas_travel_in_every_version(version: int) -> None:
    request = travelled(stop_replica.request_of(STOPS, version, EPOCH), version)
    assert request.broker_epoch == (EPOCH if version >= 1 else -1)
    news = stop_replica.news_of(request)
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
            flags += [each.delete for each in stop_replica.news_of(request).partitions]
        assert flags == [False, True]


@pytest.mark.parametrize("version", range(9))
def test_the_picture_travels_in_every_version(version: int) -> None:
    request = travelled(update_metadata.request_of(SHOWN, version, EPOCH), version)
    assert request.broker_epoch == (EPOCH if version >= 5 else -1)
    news = update_metadata.news_of(request)
    assert (news.controller_id, news.controller_epoch) == (3, 11)
    assert list(news.brokers) == [1, 2]
    first = news.brokers[1]
    assert first.rack == ("r1" if version >= 2 else None)
    if version == 0:
        assert first.endpoints == {"PLAINTEXT": ("one", 9092)}
    else:
        assert (first.endpoints, first.security_protocols) == (
            SHOWN.brokers[1].endpoints,
            SHOWN.brokers[1].security_protocols,
        )
    assert news.brokers[2] == SHOWN.brokers[2]
    expected = [
        ShownPartition(
            each.topic,
            each.topic_id if version >= 7 else ZERO_UUID,
            each.index,
            PartitionInfo(
                each.info.leader,
                each.info.leader_epoch,
                each.info.isr,
                each.info.replicas,
                each.info.offline if version >= 4 else (),
            ),
        )
        for each in SHOWN.partitions
    ]
    assert by_key(news.partitions) == by_key(expected)


@pytest.mark.parametrize("version", range(9))
def test_a_broker_that_is_presumed_dead_travels_as_a_live_one_with_a_tag(version: int) -> None:
    one, two = (
        BrokerInfo(each, None, {"PLAINTEXT": ("h", each)}, {"PLAINTEXT": "PLAINTEXT"}) for each in (1, 2)
    )
    shown = UpdateMetadata(1, 1, {1: one}, [], {2: two})
    request = travelled(update_metadata.request_of(shown, version, EPOCH), version)
    assert [broker.id for broker in request.live_brokers] == [1, 2]
    news = update_metadata.news_of(request)
    if version >= 6:
        assert news == shown
    else:
        assert (news.brokers, news.presumed_dead) == ({1: one, 2: two}, {})


@pytest.mark.parametrize("version", range(9))
def test_a_listener_of_another_name_travels_where_versions_know_names(version: int) -> None:
    inside = BrokerInfo(1, None, {"INSIDE": ("one", 1)}, {"INSIDE": "SASL_SSL"})
    news = UpdateMetadata(1, 1, {1: inside})
    if version < 3:
        with pytest.raises(ValueError, match="listener"):
            update_metadata.request_of(news, version, EPOCH)
        return
    request = travelled(update_metadata.request_of(news, version, EPOCH), version)
    assert request.live_brokers[0].endpoints[0].security_protocol == 3
    assert update_metadata.news_of(request).brokers[1] == inside


def test_a_security_protocol_that_does_not_exist_is_refused() -> None:
    endpoint = UpdateMetadataRequest.UpdateMetadataEndpoint(1, "h", "L", 4)
    broker = UpdateMetadataRequest.UpdateMetadataBroker(1, endpoints=[endpoint])
    with pytest.raises(ValueError, match="protocol 4"):
        update_metadata.news_of(UpdateMetadataRequest(live_brokers=[broker]))


def test_the_reply_to_the_picture() -> None:
    for error in (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH):
        response = travelled(update_metadata.response_of(Reply(error)), 8)
        assert update_metadata.reply_of(response) == Reply(error)
