"""Brokers that start, fail and come back, and a controller that begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import (
    LeaderAndIsr,
    StoppedPartition,
    StopReplica,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import PartitionInfo
from kcompat.controller.brokers import BrokersSeen, Failover, LogDirectoriesFailed
from kcompat.controller.state import (
    ABSENT,
    ControlledPartition,
    ControlledTopic,
    ControllerState,
    RegisteredBroker,
    TopicDeletion,
)
from kcompat.store.interface import Create, Delete, SetData
from support.payloads import json_of

from .conftest import broker, told, with_partitions

if TYPE_CHECKING:
    from kcompat.controller.state import Decision


def seen(state: ControllerState, *brokers: RegisteredBroker) -> Decision[None]:
    decision = BrokersSeen({each.info.id: each for each in brokers}).decide(state)
    decision.state.check_invariants()
    return decision


def partitions(decision: Decision[None]) -> tuple[ControlledPartition, ...]:
    return decision.state.topics["t"].partitions


def test_what_a_dead_broker_led_is_led_by_the_next_in_sync(three: ControllerState) -> None:
    state = with_partitions(
        three,
        ControlledPartition(1, 4, (1, 2, 3), (1, 2, 3), 9),
        ControlledPartition(2, 4, (2, 1), (2, 1), 9),
        ControlledPartition(1, 4, (1,), (1, 2), 9),
        ControlledPartition(3, 4, (3, 2), (3, 2), 9),
    )
    decision = seen(state, broker(2), broker(3))
    assert partitions(decision) == (
        ControlledPartition(2, 5, (2, 3), (1, 2, 3), 10),
        ControlledPartition(2, 5, (2,), (2, 1), 10),
        ControlledPartition(-1, 5, (1,), (1, 2), 10),
        ControlledPartition(3, 4, (3, 2), (3, 2), 9),
    )
    assert not told(decision, 1)
    alone, roles, picture = told(decision, 2)
    assert isinstance(alone, UpdateMetadata)
    assert (list(alone.brokers), alone.partitions) == ([2, 3], [])
    assert isinstance(roles, LeaderAndIsr)
    assert [part.index for part in roles.partitions] == [0, 1, 2]
    assert [each.id for each in roles.live_leaders] == [2]
    assert isinstance(picture, UpdateMetadata)
    assert [(part.index, part.info.offline) for part in picture.partitions] == [
        (0, (1,)),
        (1, (1,)),
        (2, (1,)),
    ]


def test_a_broker_that_starts_hears_everything_and_the_others_of_it(three: ControllerState) -> None:
    before = replace(three, brokers={1: broker(1), 2: broker(2)})
    state = with_partitions(
        before,
        ControlledPartition(1, 4, (1,), (1, 3), 9),
        ControlledPartition(-1, 4, (3,), (3, 1), 9),
        ControlledPartition(2, 4, (2,), (2,), 9),
    )
    decision = seen(state, broker(1), broker(2), broker(3))
    assert partitions(decision)[1] == ControlledPartition(3, 5, (3,), (3, 1), 10)
    assert len(decision.writes) == 1
    everything, roles, elected = told(decision, 3)
    assert isinstance(everything, UpdateMetadata)
    assert sorted(everything.brokers) == [1, 2, 3]
    assert [(part.index, part.info.leader) for part in everything.partitions] == [(0, 1), (1, -1), (2, 2)]
    assert isinstance(roles, LeaderAndIsr)
    assert [(part.index, part.role.leader, part.is_new) for part in roles.partitions] == [
        (0, 1, False),
        (1, 3, False),
    ]
    assert isinstance(elected, UpdateMetadata)
    assert [(part.index, part.info.leader) for part in elected.partitions] == [(1, 3)]
    assert [type(news) for news in told(decision, 2)] == [UpdateMetadata, UpdateMetadata]


def test_a_broker_that_registered_anew_has_failed_and_started(three: ControllerState) -> None:
    state = with_partitions(
        replace(three, failed=frozenset({(1, "t", 0)})),
        ControlledPartition(1, 4, (1, 2), (1, 2), 9),
        ControlledPartition(1, 4, (1,), (1,), 9),
        ControlledPartition(2, 4, (2, 1), (2, 1), 9),
    )
    decision = seen(state, broker(1, epoch=6), broker(2), broker(3))
    assert partitions(decision) == (
        ControlledPartition(2, 5, (2,), (1, 2), 10),
        ControlledPartition(1, 5, (1,), (1,), 10),
        ControlledPartition(2, 5, (2,), (2, 1), 10),
    )
    assert len(decision.writes) == 3
    assert not decision.state.failed
    assert [type(news) for news in told(decision, 1)] == [UpdateMetadata, LeaderAndIsr, UpdateMetadata]


def test_a_new_address_is_told_and_nothing_else_changes(three: ControllerState) -> None:
    state = with_partitions(three, ControlledPartition(1, 4, (1, 2), (1, 2), 9))
    decision = seen(state, broker(1, rack="r"), broker(2), broker(3))
    assert not decision.writes
    assert [broker_id for broker_id, _ in decision.requests] == [1, 2, 3]
    same = seen(state, broker(1), broker(2), broker(3))
    assert same.state is state
    assert not same.requests


def test_one_that_shuts_down_is_forgotten_with_its_death(three: ControllerState) -> None:
    decision = seen(replace(three, shutting_down=frozenset({3})), broker(1), broker(2))
    assert not decision.state.shutting_down


def test_a_partition_that_nobody_could_take_is_made_when_a_replica_starts(one: ControllerState) -> None:
    state = with_partitions(one, ControlledPartition(-1, 0, (), (2, 3), ABSENT))
    decision = seen(state, broker(1), broker(3))
    assert partitions(decision) == (ControlledPartition(3, 0, (3,), (2, 3), 0),)
    (write,) = decision.writes
    assert isinstance(write, Create)
    assert write.path == "/brokers/topics/t/partitions/0/state"
    roles = next(news for news in told(decision, 3) if isinstance(news, LeaderAndIsr))
    assert [part.is_new for part in roles.partitions] == [True]


def test_a_broker_that_starts_hides_and_deletes_what_waits_for_it(one: ControllerState) -> None:
    topic = ControlledTopic("d", b"d" * 16, (ControlledPartition(1, 4, (1,), (1, 2), 9),))
    state = replace(one, deleting={"d": TopicDeletion(topic, frozenset({2}))})
    decision = seen(state, broker(1), broker(2))
    _, picture, stop = told(decision, 2)
    assert isinstance(picture, UpdateMetadata)
    assert [(part.topic, part.info.leader) for part in picture.partitions] == [("d", -2)]
    assert stop == StopReplica(1, 7, [StoppedPartition("d", 0, -2, delete=True)])
    assert StopReplica not in [type(news) for news in told(decision, 1)]


# -- a controller that begins


def test_a_controller_that_begins_tells_every_broker_everything(three: ControllerState) -> None:
    state = with_partitions(
        three, ControlledPartition(1, 4, (1, 2), (1, 2), 9), ControlledPartition(3, 4, (3,), (3,), 9)
    )
    decision = Failover().decide(state)
    assert not decision.writes
    roles = {
        broker_id: [part.index for part in news.partitions]
        for broker_id, news in decision.requests
        if isinstance(news, LeaderAndIsr)
    }
    assert roles == {1: [0], 2: [0], 3: [1]}
    assert told(decision, 2)[0] == UpdateMetadata(
        1,
        7,
        {each: broker(each).info for each in (1, 2, 3)},
        [
            UpdatedPartition("t", b"t" * 16, 0, PartitionInfo(1, 4, (1, 2), (1, 2))),
            UpdatedPartition("t", b"t" * 16, 1, PartitionInfo(3, 4, (3,), (3,))),
        ],
    )


def test_a_leader_that_has_registered_since_it_was_elected_leads_in_a_new_epoch(one: ControllerState) -> None:
    state = with_partitions(one, ControlledPartition(1, 4, (1,), (1,), 9))
    decision = Failover().decide(replace(state, deposed=frozenset({("t", 0)})))
    assert partitions(decision) == (ControlledPartition(1, 5, (1,), (1,), 10),)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert json_of(write.data)["leader_epoch"] == 5
    assert not decision.state.deposed


def test_replicas_on_dead_brokers_leave_the_isr(one: ControllerState) -> None:
    state = with_partitions(
        one,
        ControlledPartition(2, 4, (2, 1), (2, 1), 9),
        ControlledPartition(2, 4, (2,), (2, 1), 9),
        ControlledPartition(-1, 4, (2,), (2, 1), 9),
    )
    decision = Failover().decide(state)
    decision.state.check_invariants()
    assert partitions(decision) == (
        ControlledPartition(1, 5, (1,), (2, 1), 10),
        ControlledPartition(-1, 5, (2,), (2, 1), 10),
        ControlledPartition(-1, 4, (2,), (2, 1), 9),
    )


def test_deletions_are_resumed_and_marks_of_nothing_dropped(one: ControllerState) -> None:
    topic = ControlledTopic("d", b"d" * 16, (ControlledPartition(1, 4, (1,), (1,), 9),))
    empty = ControlledTopic("mark", bytes(16), ())
    state = replace(
        one,
        deleting={"d": TopicDeletion(topic, frozenset({1})), "mark": TopicDeletion(empty)},
        entity_configs={("topics", "d"): {}},
    )
    decision = Failover().decide(state)
    decision.state.check_invariants()
    assert decision.writes == [Delete("/admin/delete_topics/mark")]
    assert list(decision.state.deleting) == ["d"]
    _, picture, stop = told(decision, 1)
    assert isinstance(picture, UpdateMetadata)
    assert [(part.topic, part.info.leader) for part in picture.partitions] == [("d", -2)]
    assert stop == StopReplica(1, 7, [StoppedPartition("d", 0, -2, delete=True)])


def test_a_broker_that_lost_a_directory_is_told_its_roles_to_say_which_it_cannot_take(
    three: ControllerState,
) -> None:
    state = with_partitions(three, ControlledPartition(1, 4, (1, 2), (1, 2), 9))
    decision = LogDirectoriesFailed({2}).decide(state)
    assert not decision.writes
    ((broker_id, news),) = decision.requests
    assert broker_id == 2
    assert isinstance(news, LeaderAndIsr)
    assert [part.index for part in news.partitions] == [0]
