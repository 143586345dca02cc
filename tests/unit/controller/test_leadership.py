from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.cluster.news import (
    LeaderAndIsr,
    Role,
    ShownPartition,
    StoppedPartition,
    StopReplica,
    UpdateMetadata,
)
from kcompat.cluster.store import Delete, SetData
from kcompat.controller.leadership import BrokerStarted, ReplicasFailed
from kcompat.controller.state import ControlledPartition, ControlledTopic, Deletion, RegisteredBroker

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState

BROKER_1 = RegisteredBroker(BrokerInfo(1, None, {"PLAINTEXT": ("h", 1)}), epoch=50)


def with_partition(state: ControllerState, partition: ControlledPartition) -> ControllerState:
    return state.with_topics([ControlledTopic("t", b"t" * 16, (partition,))])


def test_a_broker_that_comes_back_leads_again_in_a_new_epoch(one: ControllerState) -> None:
    state = with_partition(one, ControlledPartition(1, 4, (1,), (1,), 9))
    decision = BrokerStarted(BROKER_1).decide(state)
    decision.state.check_invariants()
    (partition,) = decision.state.topics["t"].partitions
    assert partition == ControlledPartition(1, 5, (1,), (1,), 10)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert (write.path, write.version) == ("/brokers/topics/t/partitions/0/state", 9)
    assert json.loads(write.data)["leader_epoch"] == 5
    assert decision.state.brokers[1].epoch == 50
    (_, roles), (_, picture) = decision.requests
    assert isinstance(roles, LeaderAndIsr)
    assert [(part.role, part.is_new) for part in roles.partitions] == [(Role(1, 5, (1,), (1,), 10), False)]
    assert isinstance(picture, UpdateMetadata)
    assert (picture.controller_id, picture.brokers) == (1, {1: BROKER_1.info})
    assert picture.partitions == [ShownPartition("t", b"t" * 16, 0, PartitionInfo(1, 5, (1,), (1,)))]


def test_a_partition_without_leader_gets_the_first_live_replica_in_sync(three: ControllerState) -> None:
    state = with_partition(three, ControlledPartition(-1, 4, (3, 1), (2, 3, 1), 9))
    (partition,) = BrokerStarted(BROKER_1).decide(state).state.topics["t"].partitions
    assert partition == ControlledPartition(3, 5, (3, 1), (2, 3, 1), 10)


def test_a_broker_out_of_sync_is_never_elected(one: ControllerState) -> None:
    state = with_partition(one, ControlledPartition(-1, 4, (2,), (1, 2), 9))
    decision = BrokerStarted(BROKER_1).decide(state)
    assert decision.state.topics["t"].partitions[0].leader == -1
    assert not decision.writes


def test_partitions_led_by_others_stay_as_they_are(three: ControllerState) -> None:
    partition = ControlledPartition(2, 4, (2,), (1, 2), 9)
    decision = BrokerStarted(BROKER_1).decide(with_partition(three, partition))
    assert decision.state.topics["t"].partitions == (partition,)
    assert not decision.writes


def test_a_failed_replica_leads_no_more_but_stays_the_last_in_sync(one: ControllerState) -> None:
    state = with_partition(one, ControlledPartition(1, 4, (1,), (1,), 9))
    decision = ReplicasFailed(1, frozenset({("t", 0)})).decide(state)
    decision.state.check_invariants()
    assert decision.state.topics["t"].partitions == (ControlledPartition(-1, 5, (1,), (1,), 10),)


def test_a_failure_of_a_partition_that_is_gone_changes_nothing(one: ControllerState) -> None:
    decision = ReplicasFailed(1, frozenset({("gone", 0)})).decide(one)
    assert not decision.writes
    assert not decision.requests
    assert decision.state is one


def test_a_broker_that_starts_resumes_deletions_and_sees_nothing_of_them(one: ControllerState) -> None:
    topic = ControlledTopic("d", b"d" * 16, (ControlledPartition(1, 4, (1,), (1,), 9),))
    empty = ControlledTopic("mark", bytes(16), ())
    state = replace(
        one,
        deleting={"d": Deletion(topic), "mark": Deletion(empty)},
        entity_configs={("topics", "d"): {}},
    )
    decision = BrokerStarted(BROKER_1).decide(state)
    decision.state.check_invariants()
    assert decision.writes == [Delete("/admin/delete_topics/mark")]
    assert decision.state.deleting == {"d": Deletion(topic, frozenset({1}))}
    (_, picture), stop = decision.requests
    assert isinstance(picture, UpdateMetadata)
    assert not picture.partitions
    assert stop == (1, StopReplica(1, 7, [StoppedPartition("d", 0, -2, delete=True)]))


def test_the_other_brokers_hear_of_one_that_starts_and_of_what_it_changed(three: ControllerState) -> None:
    state = with_partition(three, ControlledPartition(1, 4, (1, 2), (1, 2), 9))
    state = state.with_topics([ControlledTopic("u", b"u" * 16, (ControlledPartition(3, 0, (3,), (3,), 0),))])
    decision = BrokerStarted(BROKER_1).decide(state)
    kinds = {
        broker: [type(news) for each, news in decision.requests if each == broker] for broker in (1, 2, 3)
    }
    assert kinds == {
        1: [LeaderAndIsr, UpdateMetadata],
        2: [LeaderAndIsr, UpdateMetadata],
        3: [UpdateMetadata],
    }
    pictures = {
        broker: [part.topic for part in news.partitions]
        for broker, news in decision.requests
        if isinstance(news, UpdateMetadata)
    }
    assert pictures == {1: ["t", "u"], 2: ["t"], 3: ["t"]}
