"""The table of AlterPartition: what the controller says to a proposed ISR."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, UpdateMetadata
from kcompat.controller.isr_changes import AlterPartition, IsrAnswer, IsrAnswers, ProposedIsr
from kcompat.controller.reassignment import ReplicasCaughtUp
from kcompat.controller.state import ControlledPartition
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import SetData
from support.payloads import json_of

from .conftest import with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState

CURRENT = ControlledPartition(1, 4, (1, 2), (1, 2, 3), 9)
TOPIC_ID = b"t" * 16


@pytest.fixture
def state(three: ControllerState) -> ControllerState:
    return with_partitions(three, CURRENT)


def proposed(
    *isr: int, leader_epoch: int = 4, partition_epoch: int = 9, topic: str | bytes = "t", index: int = 0
) -> ProposedIsr:
    members = tuple((broker_id, -1) for broker_id in isr)
    return ProposedIsr(topic, index, leader_epoch, partition_epoch, members)


def alter(*proposals: ProposedIsr, broker_id: int = 1, broker_epoch: int = 5) -> AlterPartition:
    return AlterPartition(broker_id, broker_epoch, proposals)


def test_a_new_isr_is_stored_in_the_same_leader_epoch(state: ControllerState) -> None:
    decision = alter(proposed(1, 2, 3)).decide(state)
    decision.state.check_invariants()
    changed = ControlledPartition(1, 4, (1, 2, 3), (1, 2, 3), 10)
    assert decision.answer == IsrAnswers(rows=[IsrAnswer("t", 0, partition=changed)])
    assert decision.state.topics["t"].partitions == (changed,)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert write.version == 9
    assert json_of(write.data)["isr"] == [1, 2, 3]
    assert json_of(write.data)["leader_epoch"] == 4
    assert [type(news) for _, news in decision.requests] == [UpdateMetadata] * 3
    assert decision.next is None


@pytest.mark.parametrize(
    ("proposal", "error"),
    [
        (proposed(1, topic=b"?" * 16), ErrorCode.UNKNOWN_TOPIC_ID),
        (proposed(1, topic="gone"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (proposed(1, index=1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (proposed(1, leader_epoch=5), ErrorCode.NOT_CONTROLLER),
        (proposed(1, partition_epoch=10), ErrorCode.NOT_CONTROLLER),
        (proposed(1, leader_epoch=3), ErrorCode.FENCED_LEADER_EPOCH),
        (proposed(1, 2, 4), ErrorCode.INVALID_REQUEST),
        (proposed(2, 3), ErrorCode.INVALID_REQUEST),
        (replace(proposed(1, 2, 3), leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        (replace(proposed(1), leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        (replace(proposed(1), isr=((1, 5), (2, -1), (3, 4))), ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_is_refused(state: ControllerState, proposal: ProposedIsr, error: ErrorCode) -> None:
    decision = alter(proposal).decide(state)
    assert [row.error for row in decision.answer.rows] == [error]
    assert decision.state.topics == state.topics
    assert not decision.writes


def test_what_is_in_force_already_is_accepted_again_whatever_its_partition_epoch(
    state: ControllerState,
) -> None:
    decision = alter(proposed(2, 1, partition_epoch=8, topic=TOPIC_ID)).decide(state)
    assert decision.answer == IsrAnswers(rows=[IsrAnswer(TOPIC_ID, 0, partition=CURRENT)])
    assert not decision.writes


@pytest.mark.parametrize(("broker_id", "broker_epoch"), [(1, 4), (1, 6), (9, 5)])
def test_a_broker_that_is_not_the_registered_one_is_refused(
    state: ControllerState, broker_id: int, broker_epoch: int
) -> None:
    event = alter(proposed(1), broker_id=broker_id, broker_epoch=broker_epoch)
    assert event.decide(state).answer == IsrAnswers(ErrorCode.STALE_BROKER_EPOCH)


def test_a_leader_that_missed_a_change_is_told_in_a_new_leader_epoch(state: ControllerState) -> None:
    decision = alter(proposed(1, partition_epoch=8)).decide(state)
    assert [row.error for row in decision.answer.rows] == [ErrorCode.INVALID_UPDATE_VERSION]
    assert decision.state.topics["t"].partitions == (replace(CURRENT, leader_epoch=5, partition_epoch=10),)
    assert [type(news) for _, news in decision.requests[:2]] == [LeaderAndIsr, UpdateMetadata]
    other = alter(proposed(2, partition_epoch=8), broker_id=2).decide(state)
    assert [row.error for row in other.answer.rows] == [ErrorCode.INVALID_UPDATE_VERSION]
    assert not other.writes


def test_a_broker_that_does_not_lead_proposes_nothing(state: ControllerState) -> None:
    decision = alter(proposed(1, 2, 3), broker_id=2).decide(state)
    assert [row.error for row in decision.answer.rows] == [ErrorCode.INVALID_REQUEST]


def test_one_that_shuts_down_or_has_failed_gets_into_no_isr(state: ControllerState) -> None:
    event = alter(proposed(1, 2, 3))
    for ineligible in (
        replace(state, shutting_down=frozenset({3})),
        replace(state, failed=frozenset({(3, "t", 0)})),
        replace(state, brokers={each: state.brokers[each] for each in (1, 2)}),
    ):
        assert [row.error for row in event.decide(ineligible).answer.rows] == [ErrorCode.INELIGIBLE_REPLICA]
        old = replace(event, knows_ineligible=False).decide(ineligible)
        assert [row.error for row in old.answer.rows] == [ErrorCode.OPERATION_NOT_ATTEMPTED]


def test_a_leader_has_recovered_when_it_says_so(three: ControllerState) -> None:
    recovering = ControlledPartition(1, 4, (1,), (1, 2, 3), 9, leader_recovery_state=1)
    decision = alter(proposed(1)).decide(with_partitions(three, recovering))
    assert decision.state.topics["t"].partitions == (
        replace(recovering, leader_recovery_state=0, partition_epoch=10),
    )


def test_a_reassignment_is_looked_at_afterwards(three: ControllerState) -> None:
    moving = ControlledPartition(1, 4, (1,), (3, 1), 9, 0, (3,), (1,))
    decision = alter(proposed(1, 3)).decide(with_partitions(three, moving))
    assert decision.next == ReplicasCaughtUp([("t", 0)])


def test_each_partition_is_decided_by_itself(three: ControllerState) -> None:
    state = with_partitions(three, CURRENT, CURRENT)
    decision = alter(proposed(1, leader_epoch=3), proposed(1, index=1)).decide(state)
    assert [row.error for row in decision.answer.rows] == [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NONE]
    assert len(decision.writes) == 1
