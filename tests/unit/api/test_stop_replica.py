"""StopReplica: what becomes of it before this broker stops anything, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import stop_replica
from kcompat.cluster.control_requests import Reply, StopReplica
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.stop_replica import StopReplicaRequest
from kcompat.security.authorizer import CLUSTER, AllowEverything, Authorizer
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of
from support.told_broker import ToldBroker

EPOCH = 100


def request(version: int, broker_epoch: int = EPOCH) -> StopReplicaRequest:
    """Two partitions of one topic, to be deleted."""
    asked = StopReplicaRequest(controller_id=2, controller_epoch=3, broker_epoch=broker_epoch)
    asked.delete_partitions = version < 3
    if version == 0:
        asked.ungrouped_partitions = [StopReplicaRequest.StopReplicaPartitionV0("t", 0)]
        asked.ungrouped_partitions.append(StopReplicaRequest.StopReplicaPartitionV0("t", 1))
    elif version < 3:
        asked.topics = [StopReplicaRequest.StopReplicaTopicV1("t", [0, 1])]
    else:
        states = [StopReplicaRequest.StopReplicaPartitionState(index, 5, True) for index in (0, 1)]
        asked.topic_states = [StopReplicaRequest.StopReplicaTopicState("t", states)]
    return asked


def answer(
    broker: ToldBroker,
    version: int = 4,
    broker_epoch: int = EPOCH,
    authorizer: Authorizer | None = None,
) -> Any:
    services = services_of(
        local=broker, broker_epoch=lambda: EPOCH, authorizer=authorizer or AllowEverything()
    )
    return ask(stop_replica, version, request(version, broker_epoch), services)


def rows(response: Any) -> list[tuple[str, int, int]]:
    return [(row.topic_name, row.partition_index, row.error_code) for row in response.partition_errors]


@pytest.mark.parametrize("version", range(5))
def test_the_broker_stops_them_and_every_partition_has_its_row(version: int) -> None:
    broker = ToldBroker(Reply(partitions={("t", 1): ErrorCode.FENCED_LEADER_EPOCH}))
    response = answer(broker, version)
    assert response.error_code == 0
    assert rows(response) == [("t", 0, 0), ("t", 1, 74)]
    (news,) = broker.heard
    assert isinstance(news, StopReplica)
    assert (news.controller_id, news.controller_epoch) == (2, 3)
    expected = 5 if version >= 3 else -1
    assert [(each.index, each.leader_epoch, each.delete) for each in news.partitions] == [
        (0, expected, True),
        (1, expected, True),
    ]


def test_a_former_controller_has_no_rows() -> None:
    response = answer(ToldBroker(Reply(ErrorCode.STALE_CONTROLLER_EPOCH)))
    assert (response.error_code, rows(response)) == (11, [])


@pytest.mark.parametrize(("version", "error"), [(0, 0), (1, 77), (4, 77)])
def test_what_was_meant_for_a_former_registration_is_not_done(version: int, error: int) -> None:
    """Version 0 does not say for which registration it is."""
    broker = ToldBroker(Reply())
    response = answer(broker, version, broker_epoch=EPOCH - 1)
    assert response.error_code == error
    assert bool(rows(response)) is bool(broker.heard) is not bool(error)


def test_it_is_for_controllers_alone() -> None:
    broker = ToldBroker(Reply())
    denying = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    response = answer(broker, broker_epoch=1, authorizer=denying)
    assert response.error_code == 31
    assert rows(response) == [("t", 0, 31), ("t", 1, 31)]
    assert not broker.heard


def test_a_broker_that_takes_its_time_answers_later() -> None:
    assert isinstance(answer(ToldBroker()), Promise)
