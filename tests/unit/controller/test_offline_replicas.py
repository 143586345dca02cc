"""Replicas that fail: who leads and who stays in sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, StoppedPartition, StopReplica, UpdateMetadata
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.controller.state import ControlledPartition
from kcompat.store.interface import SetData
from support.payloads import json_of

from .conftest import told, with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState


def test_a_failed_replica_leads_no_more_but_stays_the_last_in_sync(one: ControllerState) -> None:
    state = with_partitions(one, ControlledPartition(1, 4, (1,), (1,), 9))
    decision = ReplicasFailed(1, frozenset({("t", 0)})).decide(state)
    decision.state.check_invariants()
    assert decision.state.topics["t"].partitions == (ControlledPartition(-1, 5, (1,), (1,), 10),)
    shown, stop = told(decision, 1)
    assert isinstance(shown, UpdateMetadata)
    assert shown.partitions[0].info.offline == (1,)
    assert stop == StopReplica(1, 7, [StoppedPartition("t", 0, 4, delete=False)])


def test_another_in_sync_leads_and_the_failed_one_leaves_the_isr_in_one_epoch(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(2, 4, (2, 3, 1), (2, 3, 1), 9))
    decision = ReplicasFailed(2, frozenset({("t", 0)})).decide(state)
    decision.state.check_invariants()
    assert decision.state.topics["t"].partitions == (ControlledPartition(3, 5, (3, 1), (2, 3, 1), 10),)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert (write.path, write.version) == ("/brokers/topics/t/partitions/0/state", 9)
    assert json_of(write.data) == {
        "version": 1,
        "leader": 3,
        "leader_epoch": 5,
        "controller_epoch": 7,
        "isr": [3, 1],
    }
    assert [type(news) for news in told(decision, 3)] == [LeaderAndIsr, UpdateMetadata]


def test_a_follower_that_fails_leaves_the_isr(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(2, 4, (2, 3), (2, 3, 1), 9))
    decision = ReplicasFailed(3, frozenset({("t", 0)})).decide(state)
    assert decision.state.topics["t"].partitions == (ControlledPartition(2, 5, (2,), (2, 3, 1), 10),)
    assert [type(news) for news in told(decision, 3)] == [UpdateMetadata, StopReplica]


def test_one_out_of_sync_is_elected_only_if_the_topic_allows_it(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(2, 4, (2,), (2, 3, 1), 9))
    event = ReplicasFailed(2, frozenset({("t", 0)}))
    assert event.decide(state).state.topics["t"].partitions[0].leader == -1
    recovering = ControlledPartition(3, 5, (3,), (2, 3, 1), 10, leader_recovery_state=1)
    allowed = state.with_configs({("topics", "t"): {"unclean.leader.election.enable": "true"}})
    assert event.decide(allowed).state.topics["t"].partitions == (recovering,)
    everywhere = replace(state, elects_uncleanly=True)
    assert event.decide(everywhere).state.topics["t"].partitions == (recovering,)
    forbidden = replace(allowed, elects_uncleanly=True).with_configs(
        {("topics", "t"): {"unclean.leader.election.enable": "false"}}
    )
    assert event.decide(forbidden).state.topics["t"].partitions[0].leader == -1


def test_what_has_failed_before_changes_nothing(one: ControllerState) -> None:
    state = with_partitions(one, ControlledPartition(1, 4, (1,), (1,), 9))
    event = ReplicasFailed(1, frozenset({("t", 0)}))
    failed = event.decide(state).state
    again = event.decide(failed)
    assert again.state is failed
    assert not again.writes
    assert not again.requests


def test_a_failure_of_a_partition_that_is_gone_or_elsewhere_changes_nothing(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(2, 4, (2,), (2, 3), 9))
    decision = ReplicasFailed(1, frozenset({("gone", 0), ("t", 0), ("t", 7)})).decide(state)
    assert decision.state is state
    assert not decision.writes
    assert not decision.requests
