from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo, PartitionInfo, TopicImage
from kcompat.cluster.store import SetData
from kcompat.controller.leadership import BrokerStarted, ReplicasFailed
from kcompat.controller.state import LeaderAndIsr, UpdateMetadata

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState

BROKER_1 = BrokerInfo(1, None, {"PLAINTEXT": ("h", 1)}, epoch=50)


def with_partition(state: ControllerState, partition: PartitionInfo) -> ControllerState:
    return replace(state, image=state.image.with_topics([TopicImage("t", b"t" * 16, (partition,))]))


def test_a_broker_that_comes_back_leads_again_in_a_new_epoch(one: ControllerState) -> None:
    state = with_partition(one, PartitionInfo(1, 4, (1,), (1,), 9))
    decision = BrokerStarted(BROKER_1).decide(state)
    decision.state.check_invariants()
    (partition,) = decision.state.image.topics["t"].partitions
    assert partition == PartitionInfo(1, 5, (1,), (1,), 10)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert (write.path, write.version) == ("/brokers/topics/t/partitions/0/state", 9)
    assert json.loads(write.data)["leader_epoch"] == 5
    roles, picture = decision.requests
    assert isinstance(roles, LeaderAndIsr)
    assert [(part.state, part.is_new) for part in roles.partitions] == [(partition, False)]
    assert isinstance(picture, UpdateMetadata)
    assert picture.image.brokers[1].epoch == 50


def test_a_partition_without_leader_gets_the_first_live_replica_in_sync(three: ControllerState) -> None:
    state = with_partition(three, PartitionInfo(-1, 4, (3, 1), (2, 3, 1), 9))
    (partition,) = BrokerStarted(BROKER_1).decide(state).state.image.topics["t"].partitions
    assert partition == PartitionInfo(3, 5, (3, 1), (2, 3, 1), 10)


def test_a_broker_out_of_sync_is_never_elected(one: ControllerState) -> None:
    state = with_partition(one, PartitionInfo(-1, 4, (2,), (1, 2), 9))
    decision = BrokerStarted(BROKER_1).decide(state)
    assert decision.state.image.topics["t"].partitions[0].leader == -1
    assert not decision.writes


def test_partitions_led_by_others_stay_as_they_are(three: ControllerState) -> None:
    partition = PartitionInfo(2, 4, (2,), (1, 2), 9)
    decision = BrokerStarted(BROKER_1).decide(with_partition(three, partition))
    assert decision.state.image.topics["t"].partitions == (partition,)
    assert not decision.writes


def test_a_failed_replica_leads_no_more_but_stays_the_last_in_sync(one: ControllerState) -> None:
    state = with_partition(one, PartitionInfo(1, 4, (1,), (1,), 9))
    decision = ReplicasFailed(1, frozenset({("t", 0)})).decide(state)
    decision.state.check_invariants()
    assert decision.state.image.topics["t"].partitions == (PartitionInfo(-1, 5, (1,), (1,), 10),)


def test_a_failure_of_a_partition_that_is_gone_changes_nothing(one: ControllerState) -> None:
    decision = ReplicasFailed(1, frozenset({("gone", 0)})).decide(one)
    assert not decision.writes
    assert decision.state.image.topics == {}
