"""Conversion of UpdateMetadata requests and responses, in every version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import (
    Reply,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.peer import update_metadata
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest
from kcompat.protocol.uuids import ZERO_UUID
from support.asking import travelled

if TYPE_CHECKING:
    from collections.abc import Iterable

ONE, TWO = b"1" * 16, b"2" * 16
EPOCH = 7_000_000_000
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
        UpdatedPartition("a", ONE, 0, PartitionInfo(1, 5, (1, 2), (1, 2, 3), (3,))),
        UpdatedPartition("b", TWO, 1, PartitionInfo(-2, 6, (), (2,))),
        UpdatedPartition("a", ONE, 3, PartitionInfo(-1, 0, (2,), (2, 1))),
    ],
)


def by_key(partitions: Iterable[UpdatedPartition]) -> list[UpdatedPartition]:
    return sorted(partitions, key=lambda each: (each.topic, each.index))


@pytest.mark.parametrize("version", range(9))
def test_the_picture_travels_in_every_version(version: int) -> None:
    request = travelled(update_metadata.request_of(SHOWN, version, EPOCH), version)
    assert request.broker_epoch == (EPOCH if version >= 5 else -1)
    news = update_metadata.control_request_of(request)
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
        UpdatedPartition(
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
    news = update_metadata.control_request_of(request)
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
    assert update_metadata.control_request_of(request).brokers[1] == inside


def test_a_security_protocol_that_does_not_exist_is_refused() -> None:
    endpoint = UpdateMetadataRequest.UpdateMetadataEndpoint(1, "h", "L", 4)
    broker = UpdateMetadataRequest.UpdateMetadataBroker(1, endpoints=[endpoint])
    with pytest.raises(ValueError, match="protocol 4"):
        update_metadata.control_request_of(UpdateMetadataRequest(live_brokers=[broker]))


def test_the_reply_to_the_picture() -> None:
    for error in (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH):
        response = travelled(update_metadata.response_of(Reply(error)), 8)
        assert update_metadata.reply_of(response) == Reply(error)
