"""Configs that decide who may lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.controller.config_changes import ConfigsChanged
from kcompat.controller.state import ControlledPartition

from .conftest import with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState

WITHOUT_LEADER = ControlledPartition(-1, 4, (9,), (9, 2), 9)
RECOVERING = ControlledPartition(2, 5, (2,), (9, 2), 10, leader_recovery_state=1)
UNCLEAN = {("topics", "t"): {"unclean.leader.election.enable": "true"}}


def test_a_topic_that_allows_it_gets_a_leader(three: ControllerState) -> None:
    state = with_partitions(three, WITHOUT_LEADER)
    decision = ConfigsChanged(UNCLEAN, elects_uncleanly=False).decide(state)
    assert decision.state.topics["t"].partitions == (RECOVERING,)
    assert decision.unclean == 1
    assert decision.state.configs("topics", "t") == UNCLEAN["topics", "t"]


def test_so_do_all_that_do_not_forbid_it_when_the_brokers_allow_it(three: ControllerState) -> None:
    state = with_partitions(three, WITHOUT_LEADER)
    event = ConfigsChanged({}, elects_uncleanly=True)
    assert event.decide(state).state.topics["t"].partitions == (RECOVERING,)
    forbidding = state.with_configs({("topics", "t"): {"unclean.leader.election.enable": "false"}})
    assert not event.decide(forbidding).writes


def test_what_is_allowed_already_changes_nothing(three: ControllerState) -> None:
    state = replace(with_partitions(three, WITHOUT_LEADER), elects_uncleanly=True)
    assert not ConfigsChanged({}, elects_uncleanly=True).decide(state).writes
    assert not ConfigsChanged(UNCLEAN, elects_uncleanly=True).decide(state).writes


def test_configs_of_a_topic_that_is_not_there_are_not_kept(three: ControllerState) -> None:
    assert not ConfigsChanged(UNCLEAN, elects_uncleanly=False).decide(three).state.entity_configs
