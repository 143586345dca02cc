"""Elections that are asked for, and the balance of leaderships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.controller.leader_election_requests import BalanceLeaders, ElectLeaders, ElectPreferred
from kcompat.controller.state import ControlledPartition, ControlledTopic, TopicDeletion
from kcompat.controller.values import ElectionType, TopicOutcome
from kcompat.protocol.errors import ErrorCode

from .conftest import with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState

LED_BY_2 = ControlledPartition(2, 4, (1, 2), (1, 2), 9)
AT_HOME = ControlledPartition(1, 4, (1, 2), (1, 2), 9)


def test_preferred_leaders(three: ControllerState) -> None:
    out_of_sync = ControlledPartition(2, 4, (2,), (1, 2), 9)
    state = with_partitions(three, LED_BY_2, AT_HOME, out_of_sync)
    topic = ControlledTopic("d", b"d" * 16, (AT_HOME,))
    state = replace(state, deleting={"d": TopicDeletion(topic)})
    keys = [("t", 0), ("t", 1), ("t", 2), ("t", 3), ("none", 0), ("d", 0)]
    decision = ElectLeaders(ElectionType.PREFERRED, keys).decide(state)
    decision.state.check_invariants()
    assert decision.answer == {
        ("t", 0): TopicOutcome(),
        ("t", 1): TopicOutcome(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        ),
        ("t", 2): TopicOutcome(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            "Failed to elect leader for partition t-2 "
            "under strategy PreferredReplicaPartitionLeaderElectionStrategy",
        ),
        ("t", 3): TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
        ("none", 0): TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
        ("d", 0): TopicOutcome(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted"),
    }
    assert decision.state.topics["t"].partitions[0] == ControlledPartition(1, 5, (1, 2), (1, 2), 10)
    assert len(decision.writes) == 1


def test_unclean_leaders(three: ControllerState) -> None:
    dead = ControlledPartition(-1, 4, (9,), (9, 2), 9)
    lost = ControlledPartition(-1, 4, (9,), (9,), 9)
    decision = ElectLeaders(ElectionType.UNCLEAN, [("t", 0), ("t", 1), ("t", 2)]).decide(
        with_partitions(three, dead, lost, AT_HOME)
    )
    assert [outcome.error for outcome in decision.answer.values()] == [
        ErrorCode.NONE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
    ]
    assert decision.state.topics["t"].partitions[0] == ControlledPartition(2, 5, (2,), (9, 2), 10, 1)


def test_a_tool_of_old(three: ControllerState) -> None:
    decision = ElectPreferred([("t", 0), ("none", 0)]).decide(with_partitions(three, LED_BY_2))
    assert decision.state.topics["t"].partitions[0].leader == 1


def test_leaderships_come_back_where_too_many_are_elsewhere(three: ControllerState) -> None:
    others = [ControlledPartition(3, 0, (3,), (3,), 0)] * 9
    state = with_partitions(three, LED_BY_2, *[AT_HOME] * 9, *others)
    assert not BalanceLeaders(10).decide(state).writes
    decision = BalanceLeaders(9).decide(state)
    assert [part.leader for part in decision.state.topics["t"].partitions[:10]] == [1] * 10
    assert len(decision.writes) == 1


def test_a_partition_that_moves_is_left_alone(three: ControllerState) -> None:
    moving = ControlledPartition(2, 4, (1, 2), (1, 3, 2), 9, 0, (3,), (2,))
    assert not BalanceLeaders(0).decide(with_partitions(three, moving)).writes
