"""Partitions that move: begun, gone on with, ended, replaced, called off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, StoppedPartition, StopReplica
from kcompat.controller.brokers import Failover
from kcompat.controller.reassignment import (
    ListReassignments,
    Reassign,
    ReassignByTool,
    ReplicasCaughtUp,
)
from kcompat.controller.state import ABSENT, ControlledPartition
from kcompat.controller.values import TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Delete, SetData
from support.payloads import json_of

from .conftest import state_of, told, with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState, Decision

AT_REST = ControlledPartition(1, 4, (1, 2), (1, 2), 9)
MOVING = ControlledPartition(1, 5, (1, 2), (3, 4, 1, 2), 10, 0, (3, 4), (1, 2))
NO_MOVE = TopicOutcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
CAUGHT_UP = replace(MOVING, isr=(1, 2, 3, 4), partition_epoch=12)


@pytest.fixture
def four() -> ControllerState:
    return state_of(1, 2, 3, 4)


def move(state: ControllerState, *replicas: int) -> Decision[Any]:
    return checked(Reassign({("t", 0): replicas}).decide(state))


def checked(decision: Decision[Any]) -> Decision[Any]:
    decision.state.check_invariants()
    return decision


def partition(decision: Decision[Any]) -> ControlledPartition:
    return decision.state.topics["t"].partitions[0]


def stops(decision: Decision[Any]) -> dict[int, list[StoppedPartition]]:
    return {each: list(news.partitions) for each, news in decision.requests if isinstance(news, StopReplica)}


def outcomes(decision: Decision[dict[tuple[str, int], TopicOutcome] | ErrorCode]) -> list[TopicOutcome]:
    assert isinstance(decision.answer, dict)
    return list(decision.answer.values())


def assignment(write: object) -> dict[str, Any]:
    assert isinstance(write, SetData)
    assert write.path == "/brokers/topics/t"
    payload = json_of(write.data)
    return {key: payload[key] for key in ("partitions", "adding_replicas", "removing_replicas")}


def test_a_move_begins_with_the_wanted_replicas_before_the_others(four: ControllerState) -> None:
    decision = move(with_partitions(four, AT_REST), 3, 4)
    assert decision.answer == {("t", 0): TopicOutcome()}
    assert partition(decision) == MOVING
    state, topic = decision.writes
    assert isinstance(state, SetData)
    assert state.path == "/brokers/topics/t/partitions/0/state"
    assert assignment(topic) == {
        "partitions": {"0": [3, 4, 1, 2]},
        "adding_replicas": {"0": [3, 4]},
        "removing_replicas": {"0": [1, 2]},
    }
    new = {
        broker_id: news.partitions[0].is_new
        for broker_id, news in decision.requests
        if isinstance(news, LeaderAndIsr)
    }
    assert new == {1: False, 2: False, 3: True, 4: True}
    assert not stops(decision)


def test_it_ends_when_all_wanted_replicas_are_in_sync_and_the_topic_is_written_last(
    four: ControllerState,
) -> None:
    decision = checked(ReplicasCaughtUp([("t", 0)]).decide(with_partitions(four, CAUGHT_UP)))
    assert partition(decision) == ControlledPartition(3, 6, (3, 4), (3, 4), 13)
    assert [getattr(write, "path", None) for write in decision.writes] == [
        "/brokers/topics/t/partitions/0/state",
        "/brokers/topics/t",
    ]
    assert assignment(decision.writes[-1]) == {
        "partitions": {"0": [3, 4]},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    assert stops(decision) == {each: [StoppedPartition("t", 0, 6, delete=True)] for each in (1, 2)}
    roles = [each for each, news in decision.requests if isinstance(news, LeaderAndIsr)]
    assert roles == [3, 4]


def test_a_leader_that_stays_goes_on_leading(four: ControllerState) -> None:
    moving = ControlledPartition(1, 5, (1, 2, 3), (3, 1, 2), 10, 0, (3,), (2,))
    decision = checked(ReplicasCaughtUp([("t", 0)]).decide(with_partitions(four, moving)))
    assert partition(decision) == ControlledPartition(1, 6, (1, 3), (3, 1), 11)
    assert list(stops(decision)) == [2]


@pytest.mark.parametrize("isr", [(1, 2, 3), (1, 2)])
def test_until_then_it_goes_on(four: ControllerState, isr: tuple[int, ...]) -> None:
    state = with_partitions(four, replace(CAUGHT_UP, isr=isr))
    assert not ReplicasCaughtUp([("t", 0), ("gone", 0)]).decide(state).writes


def test_a_move_that_was_complete_when_its_controller_died_is_ended_by_the_next(
    four: ControllerState,
) -> None:
    decision = checked(Failover().decide(with_partitions(four, CAUGHT_UP)))
    assert partition(decision).replicas == (3, 4)
    unfinished = checked(Failover().decide(with_partitions(four, MOVING)))
    assert partition(unfinished) == MOVING
    new = [news.partitions[0].is_new for news in told(unfinished, 3) if isinstance(news, LeaderAndIsr)]
    assert new == [True]


def test_wanted_replicas_that_are_all_dead_are_waited_for(one: ControllerState) -> None:
    state = with_partitions(one, replace(CAUGHT_UP, leader=1))
    assert not ReplicasCaughtUp([("t", 0)]).decide(state).writes


def test_calling_it_off_brings_the_old_replicas_back(four: ControllerState) -> None:
    event = Reassign({("t", 0): None})
    decision = checked(event.decide(with_partitions(four, replace(MOVING, isr=(1, 2, 3), leader=3))))
    assert partition(decision) == ControlledPartition(1, 6, (1, 2), (1, 2), 11)
    assert sorted(stops(decision)) == [3, 4]
    again = event.decide(decision.state)
    assert again.answer == {("t", 0): NO_MOVE}


def test_another_move_takes_its_place(four: ControllerState) -> None:
    decision = move(with_partitions(four, MOVING), 3, 1)
    assert partition(decision) == ControlledPartition(1, 6, (1, 2), (3, 1, 2), 11, 0, (3,), (2,))
    assert stops(decision) == {4: [StoppedPartition("t", 0, 6, delete=True)]}


def test_another_order_is_another_assignment_at_once(four: ControllerState) -> None:
    decision = move(with_partitions(four, AT_REST), 2, 1)
    assert partition(decision) == ControlledPartition(1, 5, (1, 2), (2, 1), 10)
    assert not stops(decision)


def test_a_partition_that_nobody_could_take_yet_moves_at_once(one: ControllerState) -> None:
    absent = ControlledPartition(-1, 0, (), (8, 9), ABSENT)
    decision = move(with_partitions(one, absent), 1)
    assert partition(decision) == ControlledPartition(1, 0, (1,), (1,), 0)


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ((), "Empty replica list specified in partition reassignment."),
        ((1, 3, 1), "Duplicate replica ids in partition reassignment replica list: [1, 3, 1]"),
        ((1, -1), "Invalid broker id in replica list: [1, -1]"),
        (
            (1, 7),
            "Replica assignment has brokers that are not alive. Replica list: [7], "
            "live broker list: [1, 2, 3, 4]",
        ),
    ],
)
def test_what_is_refused(four: ControllerState, replicas: tuple[int, ...], message: str) -> None:
    decision = move(with_partitions(four, AT_REST), *replicas)
    assert decision.answer == {("t", 0): TopicOutcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)}
    assert not decision.writes


def test_what_is_not_there_does_not_move(four: ControllerState) -> None:
    decision = Reassign({("t", 1): (1,), ("none", 0): (1,), ("gone", 0): None}).decide(
        with_partitions(four, AT_REST)
    )
    unknown = TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    assert decision.answer == {
        ("t", 1): unknown,
        ("none", 0): unknown,
        ("gone", 0): NO_MOVE,
    }


def test_a_move_that_would_leave_no_replica_in_sync_is_refused(four: ControllerState) -> None:
    state = with_partitions(four, replace(MOVING, isr=(3,), leader=3))
    (outcome,) = outcomes(Reassign({("t", 0): None}).decide(state))
    assert outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_who_insists_on_the_number_of_replicas(four: ControllerState) -> None:
    state = with_partitions(four, AT_REST)
    (outcome,) = outcomes(Reassign({("t", 0): (1, 3, 4)}, keeps_size=True).decide(state))
    assert outcome == TopicOutcome(
        ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 2 to 3"
    )
    assert Reassign({("t", 0): (3, 4)}, keeps_size=True).decide(state).answer == {("t", 0): TopicOutcome()}


def test_what_is_on_the_move_is_listed(four: ControllerState) -> None:
    state = with_partitions(four, AT_REST, MOVING)
    assert ListReassignments().decide(state).answer == {("t", 1): MOVING}
    assert ListReassignments([("t", 0), ("none", 0)]).decide(state).answer == {}


# -- /admin/reassign_partitions


def test_what_a_tool_of_old_asks_for_leaves_its_znode_when_it_is_done(four: ControllerState) -> None:
    event = ReassignByTool({("t", 0): (3, 4), ("none", 0): (1,)})
    begun = checked(event.decide(with_partitions(four, AT_REST)))
    assert partition(begun) == MOVING
    assert begun.state.wanted_by_tool == {("t", 0): (3, 4)}
    left = begun.writes[-1]
    assert isinstance(left, SetData)
    assert left.path == "/admin/reassign_partitions"
    assert json_of(left.data) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 4]}],
    }
    again = ReassignByTool({("t", 0): (3, 4)}).decide(begun.state)
    assert not again.writes
    (topic,) = begun.state.topics.values()
    caught_up = begun.state.with_topics([replace(topic, partitions=(CAUGHT_UP,))])
    ended = checked(ReplicasCaughtUp([("t", 0)]).decide(caught_up))
    assert ended.writes[-1] == Delete("/admin/reassign_partitions")
    assert not ended.state.wanted_by_tool


def test_what_is_so_already_leaves_the_znode_at_once(four: ControllerState) -> None:
    decision = ReassignByTool({("t", 0): (1, 2)}).decide(with_partitions(four, AT_REST))
    assert decision.writes == [Delete("/admin/reassign_partitions")]
