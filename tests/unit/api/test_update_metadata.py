"""UpdateMetadata: what becomes of it before this broker shows anything, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import update_metadata
from kcompat.cluster.control_requests import Reply, UpdateMetadata
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest
from kcompat.security.authorizer import CLUSTER, AllowEverything, Authorizer
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of
from support.told_broker import ToldBroker

ONE = b"1" * 16
EPOCH = 100


def request(version: int, *partitions: tuple[int, int], broker_epoch: int = EPOCH) -> UpdateMetadataRequest:
    """Broker 2 is there; of the topic t these partitions have these leaders."""
    states = [
        UpdateMetadataRequest.UpdateMetadataPartitionState(
            topic_name="t", partition_index=index, leader=leader, leader_epoch=5, isr=[2], replicas=[2, 1]
        )
        for index, leader in partitions
    ]
    broker = UpdateMetadataRequest.UpdateMetadataBroker(2, "there", 9092)
    if version >= 1:
        listener = "PLAINTEXT" if version >= 3 else ""
        broker.endpoints = [UpdateMetadataRequest.UpdateMetadataEndpoint(9092, "there", listener, 0)]
    asked = UpdateMetadataRequest(
        controller_id=2, controller_epoch=3, broker_epoch=broker_epoch, live_brokers=[broker]
    )
    if version < 5:
        asked.ungrouped_partition_states = states
    else:
        asked.topic_states = [UpdateMetadataRequest.UpdateMetadataTopicState("t", ONE, states)]
    return asked


def answer(
    broker: ToldBroker, version: int, asked: UpdateMetadataRequest, authorizer: Authorizer | None = None
) -> Any:
    services = services_of(
        local=broker, broker_epoch=lambda: EPOCH, authorizer=authorizer or AllowEverything()
    )
    return ask(update_metadata, version, asked, services)


@pytest.mark.parametrize("version", range(9))
def test_the_broker_shows_what_it_is_told(version: int) -> None:
    broker = ToldBroker(Reply())
    assert answer(broker, version, request(version, (0, 2), (1, -1))).error_code == 0
    (news,) = broker.heard
    assert isinstance(news, UpdateMetadata)
    assert (news.controller_id, news.controller_epoch) == (2, 3)
    address = {"PLAINTEXT": ("there", 9092)}
    assert news.brokers == {2: BrokerInfo(2, None, address, {"PLAINTEXT": "PLAINTEXT"})}
    shown = [(each.topic, each.index, each.info.leader) for each in news.partitions]
    assert shown == [("t", 0, 2), ("t", 1, -1)]


@pytest.mark.parametrize("version", [0, 4, 5, 8])
def test_partitions_that_are_not_named_stay(version: int) -> None:
    cluster = MetadataCache("the-cluster")
    broker = ToldBroker(Reply())
    for asked in (request(version, (0, 2), (1, 2)), request(version, (1, -1)), request(version, (0, -2))):
        answer(broker, version, asked)
        news = broker.heard[-1]
        assert isinstance(news, UpdateMetadata)
        cluster.apply(news)
    topic = cluster.image.topics["t"]
    assert {index: info.leader for index, info in topic.partitions.items()} == {1: -1}
    assert cluster.image.controller_id == 2


def test_a_former_controller_is_told_so() -> None:
    broker = ToldBroker(Reply(ErrorCode.STALE_CONTROLLER_EPOCH))
    assert answer(broker, 8, request(8)).error_code == 11


@pytest.mark.parametrize(("version", "error"), [(4, 0), (5, 77), (8, 77)])
def test_what_was_meant_for_a_former_registration_is_not_shown(version: int, error: int) -> None:
    """Versions before 5 do not say for which registration they are."""
    broker = ToldBroker(Reply())
    assert answer(broker, version, request(version, broker_epoch=EPOCH - 1)).error_code == error
    assert bool(broker.heard) is not bool(error)


def test_a_security_protocol_that_does_not_exist_is_refused() -> None:
    broker = ToldBroker(Reply())
    asked = request(8)
    asked.live_brokers[0].endpoints[0].security_protocol = 4
    assert answer(broker, 8, asked).error_code == 42
    assert not broker.heard


def test_it_is_for_controllers_alone() -> None:
    broker = ToldBroker(Reply())
    denying = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    assert answer(broker, 8, request(8, broker_epoch=1), denying).error_code == 31
    assert not broker.heard
