"""LeaderAndIsr: what becomes of it before this broker takes the roles, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import leader_and_isr
from kcompat.cluster.control_requests import LeaderAndIsr, Reply, Role
from kcompat.config.broker import BrokerConfig
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kcompat.security.authorizer import CLUSTER, AllowEverything, Authorizer
from kcompat.security.operations import Operation
from kcompat.store.interface import SessionExpiredError
from support.asking import Denying, ask, context_of, services_of
from support.told_broker import HeardConfigs, ToldBroker

ONE = b"1" * 16
EPOCH = 100


def request(version: int, broker_epoch: int = EPOCH) -> LeaderAndIsrRequest:
    """Two partitions of one topic."""
    states = [
        LeaderAndIsrRequest.LeaderAndIsrPartitionState(
            topic_name="t", partition_index=index, leader=2, leader_epoch=5, isr=[2], replicas=[2, 1]
        )
        for index in (0, 1)
    ]
    asked = LeaderAndIsrRequest(controller_id=2, controller_epoch=3, broker_epoch=broker_epoch)
    if version < 2:
        asked.ungrouped_partition_states = states
    else:
        asked.topic_states = [LeaderAndIsrRequest.LeaderAndIsrTopicState("t", ONE, states)]
    return asked


def answer(
    broker: ToldBroker,
    version: int = 7,
    broker_epoch: int = EPOCH,
    authorizer: Authorizer | None = None,
    configs: HeardConfigs | None = None,
) -> Any:
    services = services_of(
        config=BrokerConfig({}),
        local=broker,
        configs=configs or HeardConfigs(),
        broker_epoch=lambda: EPOCH,
        authorizer=authorizer or AllowEverything(),
    )
    return ask(leader_and_isr, version, request(version, broker_epoch), services)


def rows(response: LeaderAndIsrResponse) -> list[tuple[int, int]]:
    grouped = [row for topic in response.topics for row in topic.partition_errors]
    return [(row.partition_index, row.error_code) for row in response.partition_errors or grouped]


@pytest.mark.parametrize("version", range(8))
def test_the_broker_takes_the_roles_and_every_partition_has_its_row(version: int) -> None:
    broker = ToldBroker(Reply(partitions={("t", 1): ErrorCode.KAFKA_STORAGE_ERROR}))
    response = answer(broker, version)
    assert response.error_code == 0
    assert rows(response) == [(0, 0), (1, 56)]
    (news,) = broker.heard
    assert isinstance(news, LeaderAndIsr)
    assert (news.controller_id, news.controller_epoch) == (2, 3)
    assert [(each.topic, each.index) for each in news.partitions] == [("t", 0), ("t", 1)]
    assert news.partitions[0].role == Role(2, 5, (2,), (2, 1))


@pytest.mark.parametrize("version", range(8))
def test_a_former_controller_is_told_so_in_every_row(version: int) -> None:
    response = answer(ToldBroker(Reply(ErrorCode.STALE_CONTROLLER_EPOCH)), version)
    assert response.error_code == 11
    assert rows(response) == [(0, 11), (1, 11)]


@pytest.mark.parametrize(("version", "error"), [(1, 0), (2, 77), (7, 77)])
def test_what_was_meant_for_a_former_registration_is_not_taken(version: int, error: int) -> None:
    """Versions 0 and 1 do not say for which registration they are."""
    broker = ToldBroker(Reply())
    response = answer(broker, version, broker_epoch=EPOCH - 1)
    assert response.error_code == error
    assert rows(response) == [(0, error), (1, error)]
    assert bool(broker.heard) is not bool(error)


@pytest.mark.parametrize("broker_epoch", [-1, EPOCH, EPOCH + 1])
def test_an_epoch_that_is_not_known_or_newer_is_taken(broker_epoch: int) -> None:
    assert answer(ToldBroker(Reply()), broker_epoch=broker_epoch).error_code == 0


@pytest.mark.parametrize(("name", "index"), [("../../t", 0), ("", 0), ("t", -1)])
def test_what_could_be_no_directory_of_a_log_is_not_taken(name: str, index: int) -> None:
    broker = ToldBroker(Reply())
    asked = request(7)
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState(partition_index=index)
    asked.topic_states.append(LeaderAndIsrRequest.LeaderAndIsrTopicState(name, ONE, [state]))
    services = services_of(
        config=BrokerConfig({}), local=broker, configs=HeardConfigs(), broker_epoch=lambda: EPOCH
    )
    response = ask(leader_and_isr, 7, asked, services)
    assert rows(response) == [(0, 0), (1, 0), (index, 17)]
    (news,) = broker.heard
    assert isinstance(news, LeaderAndIsr)
    assert [each.index for each in news.partitions] == [0, 1]


def test_it_is_for_controllers_alone() -> None:
    broker = ToldBroker(Reply())
    denying = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    response = answer(broker, broker_epoch=1, authorizer=denying)
    assert response.error_code == 31
    assert rows(response) == [(0, 31), (1, 31)]
    assert not broker.heard


def test_a_broker_that_takes_its_time_answers_later() -> None:
    assert isinstance(answer(ToldBroker()), Promise)


def test_roles_are_taken_once_the_configs_of_their_topics_are_known() -> None:
    broker, known = ToldBroker(Reply()), Promise[None]()
    configs = HeardConfigs(known)
    services = services_of(
        config=BrokerConfig({}),
        local=broker,
        configs=configs,
        broker_epoch=lambda: EPOCH,
        authorizer=AllowEverything(),
    )
    answer = leader_and_isr.handle(context_of(services, 7), request(7))
    assert isinstance(answer, Promise)
    assert configs.ensured == ["t"]
    assert not answer.done
    assert not broker.heard
    known.complete(None)
    assert answer.value.error_code == 0
    assert len(broker.heard) == 1


def test_roles_are_not_taken_when_the_session_ends_before_the_configs_are_known() -> None:
    """The registration that they were meant for went with it."""
    broker, known = ToldBroker(Reply()), Promise[None]()
    later = answer(broker, configs=HeardConfigs(known))
    known.fail(SessionExpiredError("the session has ended"))
    assert later.value.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert not broker.heard
