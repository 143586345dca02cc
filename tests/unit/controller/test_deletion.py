from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import StoppedPartition, StopReplica, UpdateMetadata
from kcompat.controller.creation import CreateTopics
from kcompat.controller.deletion import DeleteTopics, DeletionsMarked, ReplicasStopped
from kcompat.controller.values import TopicOutcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, Delete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState, Decision


@pytest.fixture
def two_topics(one: ControllerState, config: BrokerConfig) -> ControllerState:
    return (
        CreateTopics([TopicSpec("a", 2, 1), TopicSpec("b", 1, 1)], False, config, Random(1)).decide(one).state
    )


def stop_of(*partitions: tuple[str, int]) -> StopReplica:
    return StopReplica(1, 7, [StoppedPartition(*each, leader_epoch=-2, delete=True) for each in partitions])


def answered(
    state: ControllerState,
    broker_id: int,
    *partitions: tuple[str, int],
    failed: tuple[str, int] | None = None,
) -> Decision[None]:
    decision = ReplicasStopped(broker_id, partitions, frozenset({failed} if failed else ())).decide(state)
    decision.state.check_invariants()
    return decision


def outcomes(
    deletion: Decision[Mapping[str, TopicOutcome]], state: ControllerState
) -> Mapping[str, TopicOutcome]:
    assert deletion.revise is not None
    return deletion.revise(state)


def test_first_the_mark_and_the_picture_then_the_logs(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a", "none"]).decide(two_topics)
    decision.state.check_invariants()
    assert decision.writes == [Create("/admin/delete_topics/a")]
    (_, picture), stop = decision.requests
    assert isinstance(picture, UpdateMetadata)
    assert [(part.topic, part.index, part.info.leader) for part in picture.partitions] == [
        ("a", 0, -2),
        ("a", 1, -2),
    ]
    assert stop == (1, stop_of(("a", 0), ("a", 1)))
    assert list(decision.state.deleting) == ["a"]
    assert list(decision.state.topics) == ["b"]
    assert decision.answer == {
        "a": TopicOutcome(),
        "none": TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    }


def test_then_the_znodes_children_first_and_the_mark_last(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a"]).decide(two_topics)
    finished = answered(decision.state, 1, ("a", 0), ("a", 1))
    assert finished.writes == [
        Delete("/brokers/topics/a/partitions/0/state"),
        Delete("/brokers/topics/a/partitions/0"),
        Delete("/brokers/topics/a/partitions/1/state"),
        Delete("/brokers/topics/a/partitions/1"),
        Delete("/brokers/topics/a/partitions"),
        Delete("/brokers/topics/a"),
        Delete("/config/topics/a"),
        Delete("/admin/delete_topics/a"),
    ]
    assert not finished.state.deleting
    assert ("topics", "a") not in finished.state.entity_configs
    assert outcomes(decision, finished.state) == {"a": TopicOutcome()}


def test_a_log_that_cannot_be_deleted_keeps_the_mark(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a", "b"]).decide(two_topics)
    finished = answered(decision.state, 1, ("a", 0), ("a", 1), ("b", 0), failed=("a", 1))
    assert list(finished.state.deleting) == ["a"]
    assert outcomes(decision, finished.state) == {
        "a": TopicOutcome(ErrorCode.REQUEST_TIMED_OUT),
        "b": TopicOutcome(),
    }
    assert Delete("/brokers/topics/b") in finished.writes
    assert not any("a" in write.path.split("/") for write in finished.writes if isinstance(write, Delete))


def test_the_znodes_go_when_the_last_broker_has_answered(
    three: ControllerState, config: BrokerConfig
) -> None:
    spec = TopicSpec("t", -1, -1, [(0, [1, 2]), (1, [2, 1])])
    state = CreateTopics([spec], False, config, Random(1)).decide(three).state
    decision = DeleteTopics(["t"]).decide(state)
    assert [(broker, news) for broker, news in decision.requests if isinstance(news, StopReplica)] == [
        (1, stop_of(("t", 0), ("t", 1))),
        (2, stop_of(("t", 0), ("t", 1))),
    ]
    first = answered(decision.state, 1, ("t", 0), ("t", 1))
    assert not first.writes
    assert list(first.state.deleting) == ["t"]
    assert outcomes(decision, first.state) == {"t": TopicOutcome()}
    second = answered(first.state, 2, ("t", 0), ("t", 1))
    assert second.writes[-1] == Delete("/admin/delete_topics/t")
    assert not second.state.deleting


def test_an_answer_about_a_topic_that_is_gone_changes_nothing(two_topics: ControllerState) -> None:
    decision = answered(two_topics, 1, ("a", 0), ("gone", 0))
    assert not decision.writes
    assert decision.state == two_topics


def test_a_topic_whose_brokers_are_all_gone_is_hidden_and_waits_for_them(two_topics: ControllerState) -> None:
    (partition, *_) = two_topics.topics["b"].partitions
    elsewhere = replace(
        two_topics.topics["b"], partitions=(replace(partition, replicas=(8, 9), isr=(8,), leader=-1),)
    )
    decision = DeleteTopics(["b"]).decide(two_topics.with_topics([elsewhere]))
    assert [type(news) for _, news in decision.requests] == [UpdateMetadata]
    assert decision.state.deleting["b"].waits_for == {8, 9}
    finished = answered(answered(decision.state, 8, ("b", 0)).state, 9, ("b", 0))
    assert finished.writes[-1] == Delete("/admin/delete_topics/b")


def test_what_others_have_marked_is_deleted_and_marks_of_nothing_are_dropped(
    two_topics: ControllerState,
) -> None:
    decision = DeletionsMarked(frozenset({"a", "none"})).decide(two_topics)
    decision.state.check_invariants()
    assert decision.writes == [Delete("/admin/delete_topics/none")]
    assert decision.requests[-1] == (1, stop_of(("a", 0), ("a", 1)))
    assert list(decision.state.deleting) == ["a"]
    known = replace(two_topics, marked=frozenset({"a"}))
    assert not DeleteTopics(["a"]).decide(known).writes


def test_nothing_to_delete_decides_nothing(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["none"]).decide(two_topics)
    assert decision.state is two_topics
    assert not decision.writes
    assert not decision.requests
