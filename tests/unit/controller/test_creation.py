from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, UpdateConfigs, UpdateMetadata
from kcompat.controller.creation import CreatePartitions, CreateTopics
from kcompat.controller.state import ControlledTopic, TopicDeletion
from kcompat.controller.values import PartitionsSpec, TopicOutcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData
from support.payloads import json_of

if TYPE_CHECKING:
    from kcompat.cluster.control_requests import ControlRequest
    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState, Decision
    from kcompat.controller.values import TopicResult

RANDOM = Random(1)


def create(
    state: ControllerState, config: BrokerConfig, *specs: TopicSpec, validate_only: bool = False
) -> Decision[list[TopicResult]]:
    decision = CreateTopics(specs, validate_only, config, RANDOM).decide(state)
    decision.state.check_invariants()
    return decision


def told(decision: Decision[Any], broker_id: int) -> list[ControlRequest]:
    return [news for each, news in decision.requests if each == broker_id]


def with_topic(state: ControllerState, config: BrokerConfig, spec: TopicSpec) -> ControllerState:
    decision = create(state, config, spec)
    assert decision.answer[0].error is ErrorCode.NONE
    return decision.state


def test_a_topic_is_written_as_kafka_writes_it(one: ControllerState, config: BrokerConfig) -> None:
    decision = create(one, config, TopicSpec("t", 2, 1, configs=[("retention.ms", "1000")]))
    written = {write.path: write.data for write in decision.writes if isinstance(write, Create)}
    assert list(written) == [
        "/config/topics/t",
        "/brokers/topics/t",
        "/brokers/topics/t/partitions",
        "/brokers/topics/t/partitions/0",
        "/brokers/topics/t/partitions/0/state",
        "/brokers/topics/t/partitions/1",
        "/brokers/topics/t/partitions/1/state",
    ]
    assert json_of(written["/config/topics/t"])["config"] == {"retention.ms": "1000"}
    assert json_of(written["/brokers/topics/t"])["partitions"] == {"0": [1], "1": [1]}
    assert json_of(written["/brokers/topics/t/partitions/1/state"]) == {
        "version": 1,
        "leader": 1,
        "leader_epoch": 0,
        "controller_epoch": 7,
        "isr": [1],
    }


def test_the_broker_hears_of_its_roles_before_clients_hear_of_the_topic(
    one: ControllerState, config: BrokerConfig
) -> None:
    decision = create(
        one, config, TopicSpec("t", 2, 1, configs=[("retention.ms", "1000")]), TopicSpec("u", 1, 1)
    )
    configs, roles, picture = told(decision, 1)
    assert configs == UpdateConfigs({("topics", "t"): {"retention.ms": "1000"}, ("topics", "u"): {}})
    assert isinstance(roles, LeaderAndIsr)
    assert [(part.topic, part.index, part.role.leader, part.is_new) for part in roles.partitions] == [
        ("t", 0, 1, True),
        ("t", 1, 1, True),
        ("u", 0, 1, True),
    ]
    assert isinstance(picture, UpdateMetadata)
    assert [(part.topic, part.index) for part in picture.partitions] == [("t", 0), ("t", 1), ("u", 0)]


def test_the_result_tells_what_was_made(one: ControllerState, config: BrokerConfig) -> None:
    (result,) = create(one, config, TopicSpec("t", configs=[("retention.ms", "7")])).answer
    assert (result.error, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 4, 1)
    assert result.configs == {"retention.ms": "7"}
    assert len(result.topic_id) == 16
    assert result.topic_id[6] >> 4 == 4


def test_validation_alone_changes_nothing(one: ControllerState, config: BrokerConfig) -> None:
    decision = create(one, config, TopicSpec("t", 3, 1), validate_only=True)
    assert decision.answer[0].num_partitions == 3
    assert decision.state is one
    assert not decision.writes
    assert not decision.requests


def test_one_bad_topic_does_not_stop_the_others(one: ControllerState, config: BrokerConfig) -> None:
    decision = create(one, config, TopicSpec("bad", 0, 1), TopicSpec("good", 1, 1))
    assert [result.error for result in decision.answer] == [ErrorCode.INVALID_PARTITIONS, ErrorCode.NONE]
    assert list(decision.state.topics) == ["good"]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (TopicSpec("", 1, 1), 17, "Topic name is invalid: the empty string is not allowed"),
        (
            TopicSpec("a b", 1, 1),
            17,
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        ),
        (TopicSpec("t", 0, 1), 37, "Number of partitions was set to an invalid non-positive value."),
        (TopicSpec("t", -2, 1), 37, "Number of partitions was set to an invalid non-positive value."),
        (
            TopicSpec("t", 1, 0),
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            TopicSpec("t", 1, 2),
            38,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be "
            "reached because only 1 broker(s) are registered.",
        ),
        (
            TopicSpec("t", -1, 1, [(0, [1])]),
            42,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
        (
            TopicSpec("t", 1, -1, [(0, [1])]),
            42,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            TopicSpec("t", -1, -1, [(1, [1])]),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            TopicSpec("t", -1, -1, [(-1, [1])]),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            TopicSpec("t", -1, -1, [(0, [1]), (0, [1])]),
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            TopicSpec("t", -1, -1, [(0, [1, 1])]),
            39,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            TopicSpec("t", -1, -1, [(0, [9])]),
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            TopicSpec("t", -1, -1, [(0, [])]),
            39,
            "The manual partition assignment includes an empty replica list.",
        ),
        (TopicSpec("t", 1, 1, configs=[("nosuch", "1")]), 40, "Unknown topic config name: nosuch"),
        (
            TopicSpec("t", 1, 1, configs=[("retention.ms", None)]),
            40,
            "Null value not supported for topic configs: retention.ms",
        ),
        (TopicSpec("t", 10_001, 1), 44, "Excessively large number of partitions per request."),
    ],
)
def test_what_kafka_refuses_in_its_words(
    one: ControllerState, config: BrokerConfig, spec: TopicSpec, error: int, message: str
) -> None:
    (result,) = create(one, config, spec).answer
    assert (int(result.error), result.message) == (error, message)


def test_unequal_replica_counts_in_an_assignment(three: ControllerState, config: BrokerConfig) -> None:
    (result,) = create(three, config, TopicSpec("t", -1, -1, [(0, [1, 2]), (1, [3])])).answer
    assert result.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert result.message is not None
    assert "a partition with 1 replica(s)" in result.message


def test_names_that_exist_collide_or_are_being_deleted(one: ControllerState, config: BrokerConfig) -> None:
    state = with_topic(one, config, TopicSpec("a.b", 1, 1))
    state = replace(state, deleting={"gone": TopicDeletion(ControlledTopic("gone", bytes(16), ()))})
    results = create(
        state, config, *[TopicSpec(name, 1, 1) for name in ("a.b", "a_b", "gone", "x.y", "x_y")]
    ).answer
    assert [(int(result.error), result.message) for result in results] == [
        (36, "Topic 'a.b' already exists."),
        (17, "Topic 'a_b' collides with existing topic: a.b"),
        (36, "Topic 'gone' is marked for deletion."),
        (0, None),
        (17, "Topic 'x_y' collides with existing topic: x.y"),
    ]


def test_a_replica_may_be_on_a_broker_that_is_not_there(three: ControllerState, config: BrokerConfig) -> None:
    decision = create(three, config, TopicSpec("t", -1, -1, [(0, [9, 2])]))
    (partition,) = decision.state.topics["t"].partitions
    assert (partition.leader, partition.isr, partition.replicas) == (2, (2,), (9, 2))
    assert {broker_id for broker_id, _ in decision.requests} == {1, 2, 3}


@pytest.mark.parametrize("brokers", [[9, 8], [1, -1]])
def test_but_one_of_them_has_to_lead_and_each_could_be_one(
    three: ControllerState, config: BrokerConfig, brokers: list[int]
) -> None:
    (result,) = create(three, config, TopicSpec("t", -1, -1, [(0, brokers)])).answer
    assert result.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_manual_assignment_is_taken_as_it_is(three: ControllerState, config: BrokerConfig) -> None:
    decision = create(three, config, TopicSpec("t", -1, -1, [(1, [3, 1]), (0, [2, 3])]))
    partitions = decision.state.topics["t"].partitions
    assert [(part.leader, part.isr, part.replicas) for part in partitions] == [
        (2, (2, 3), (2, 3)),
        (3, (3, 1), (3, 1)),
    ]


def test_three_brokers_share_the_leaders(three: ControllerState, config: BrokerConfig) -> None:
    decision = create(three, config, TopicSpec("t", 6, 3))
    partitions = decision.state.topics["t"].partitions
    assert sorted(part.leader for part in partitions) == [1, 1, 2, 2, 3, 3]
    assert all(set(part.replicas) == {1, 2, 3} for part in partitions)


def test_who_shuts_down_is_in_sync_from_the_beginning_only_where_nobody_else_is(
    three: ControllerState, config: BrokerConfig
) -> None:
    state = replace(three, shutting_down=frozenset({1}))
    shared, own = TopicSpec("t", -1, -1, [(0, [1, 2]), (1, [2, 1])]), TopicSpec("u", -1, -1, [(0, [1])])
    topics = create(state, config, shared, own).state.topics
    assert [(part.leader, part.isr) for part in topics["t"].partitions] == [(2, (2,)), (2, (2,))]
    assert [(part.leader, part.isr) for part in topics["u"].partitions] == [(1, (1,))]


def test_each_broker_hears_of_its_own_roles_and_all_see_the_picture(
    three: ControllerState, config: BrokerConfig
) -> None:
    decision = create(three, config, TopicSpec("t", -1, -1, [(0, [1, 2]), (1, [2, 3]), (2, [2, 1])]))
    indexes = {}
    for broker_id in (1, 2, 3):
        _, roles, picture = told(decision, broker_id)
        assert isinstance(roles, LeaderAndIsr)
        indexes[broker_id] = [part.index for part in roles.partitions]
        assert isinstance(picture, UpdateMetadata)
        assert sorted(picture.brokers) == [1, 2, 3]
        assert [part.index for part in picture.partitions] == [0, 1, 2]
    assert indexes == {1: [0, 2], 2: [0, 1, 2], 3: [1]}


# -- more partitions


def grow(
    state: ControllerState, *specs: PartitionsSpec, validate_only: bool = False
) -> Decision[dict[str, TopicOutcome]]:
    decision = CreatePartitions(specs, validate_only).decide(state)
    decision.state.check_invariants()
    return decision


def test_growing_writes_the_assignment_and_only_the_new_states(
    one: ControllerState, config: BrokerConfig
) -> None:
    state = with_topic(one, config, TopicSpec("t", 2, 1))
    decision = grow(state, PartitionsSpec("t", 3))
    assert decision.answer == {"t": TopicOutcome()}
    assignment, *states = decision.writes
    assert isinstance(assignment, SetData)
    assert json_of(assignment.data)["partitions"] == {"0": [1], "1": [1], "2": [1]}
    assert [write.path for write in states if isinstance(write, Create)] == [
        "/brokers/topics/t/partitions/2",
        "/brokers/topics/t/partitions/2/state",
    ]
    roles, picture = told(decision, 1)
    assert isinstance(roles, LeaderAndIsr)
    assert [part.index for part in roles.partitions] == [2]
    assert isinstance(picture, UpdateMetadata)
    assert [(part.topic, part.index) for part in picture.partitions] == [("t", 2)]
    before, after = state.topics["t"], decision.state.topics["t"]
    assert after.partitions[:2] == before.partitions
    assert after.topic_id == before.topic_id


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (PartitionsSpec("none", 3), 3, None),
        (PartitionsSpec("t", 2), 37, "Topic already has 2 partition(s)."),
        (PartitionsSpec("t", 1), 37, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        (
            PartitionsSpec("t", -1),
            37,
            "The topic t currently has 2 partition(s); -1 would not be an increase.",
        ),
        (
            PartitionsSpec("t", 4, [[1]]),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            PartitionsSpec("t", 3, [[9]]),
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (PartitionsSpec("t", 3, [[]]), 39, "The manual partition assignment includes an empty replica list."),
        (PartitionsSpec("t", 20_000), 44, "Excessively large number of partitions per request."),
    ],
)
def test_growing_that_kafka_refuses(
    one: ControllerState, config: BrokerConfig, spec: PartitionsSpec, error: int, message: str | None
) -> None:
    state = with_topic(one, config, TopicSpec("t", 2, 1))
    decision = grow(state, spec)
    (outcome,) = decision.answer.values()
    assert (int(outcome.error), outcome.message) == (error, message)
    assert decision.state is state


def test_growing_to_validate_changes_nothing(one: ControllerState, config: BrokerConfig) -> None:
    state = with_topic(one, config, TopicSpec("t", 2, 1))
    decision = grow(state, PartitionsSpec("t", 3), validate_only=True)
    assert decision.answer == {"t": TopicOutcome()}
    assert decision.state is state
    assert not decision.writes
