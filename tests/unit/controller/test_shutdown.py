"""ControlledShutdown: what a broker leads that wants to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, StopReplica, UpdateMetadata
from kcompat.controller.shutdown import ControlledShutdown, StillLed
from kcompat.controller.state import ControlledPartition
from kcompat.protocol.errors import ErrorCode

from .conftest import told, with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState


def test_others_lead_and_the_broker_leaves_the_isrs(three: ControllerState) -> None:
    state = with_partitions(
        three,
        ControlledPartition(1, 4, (1, 2, 3), (1, 2, 3), 9),
        ControlledPartition(1, 4, (1,), (1, 2), 9),
        ControlledPartition(1, 4, (1,), (1,), 9),
        ControlledPartition(2, 4, (2, 1), (2, 1), 9),
        ControlledPartition(2, 4, (2,), (2,), 9),
    )
    decision = ControlledShutdown(1, 5).decide(state)
    decision.state.check_invariants()
    assert decision.answer == StillLed(partitions=[("t", 1)])
    assert decision.state.shutting_down == {1}
    assert decision.state.topics["t"].partitions == (
        ControlledPartition(2, 5, (2, 3), (1, 2, 3), 10),
        ControlledPartition(1, 4, (1,), (1, 2), 9),
        ControlledPartition(1, 4, (1,), (1,), 9),
        ControlledPartition(2, 5, (2,), (2, 1), 10),
        ControlledPartition(2, 4, (2,), (2,), 9),
    )
    roles, _, stop = told(decision, 1)
    assert isinstance(roles, LeaderAndIsr)
    assert [part.index for part in roles.partitions] == [0]
    assert isinstance(stop, StopReplica)
    assert [(part.index, part.delete) for part in stop.partitions] == [(3, False)]
    assert [type(news) for news in told(decision, 2)] == [LeaderAndIsr, UpdateMetadata]


def test_two_that_shut_down_do_not_hand_over_to_each_other(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(1, 4, (1, 2), (1, 2), 9))
    state = replace(state, shutting_down=frozenset({2}))
    assert ControlledShutdown(1, 5).decide(state).answer == StillLed(partitions=[("t", 0)])


def test_asked_again_nothing_is_written(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(1, 4, (1, 2), (1, 2), 9))
    again = ControlledShutdown(1).decide(ControlledShutdown(1, 5).decide(state).state)
    assert again.answer == StillLed(partitions=[])
    assert not again.writes


def test_a_broker_that_is_not_there_or_was_another(three: ControllerState) -> None:
    assert ControlledShutdown(9, 5).decide(three).answer == StillLed(ErrorCode.BROKER_NOT_AVAILABLE)
    stale = ControlledShutdown(1, 4).decide(three)
    assert stale.answer == StillLed(ErrorCode.STALE_BROKER_EPOCH)
    assert not stale.state.shutting_down
