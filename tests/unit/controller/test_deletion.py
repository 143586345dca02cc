from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.store import Create, Delete
from kcompat.controller.creation import CreateTopics
from kcompat.controller.deletion import DeleteTopics
from kcompat.controller.state import StopReplica, UpdateMetadata
from kcompat.controller.values import Outcome, TopicSpec
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState


@pytest.fixture
def two_topics(one: ControllerState, config: BrokerConfig) -> ControllerState:
    return (
        CreateTopics([TopicSpec("a", 2, 1), TopicSpec("b", 1, 1)], False, config, Random(1)).decide(one).state
    )


def test_first_the_mark_and_the_picture_then_the_logs(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a", "none"]).decide(two_topics)
    decision.state.check_invariants()
    assert decision.writes == [Create("/admin/delete_topics/a")]
    picture, stop = decision.requests
    assert isinstance(picture, UpdateMetadata)
    assert list(picture.image.topics) == ["b"]
    assert stop == StopReplica([("a", 0), ("a", 1)])
    assert decision.state.deleting == {"a"}
    assert decision.answer == {"a": Outcome(), "none": Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}


def test_then_the_znodes_children_first_and_the_mark_last(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a"]).decide(two_topics)
    assert decision.then is not None
    finished = decision.then({}).decide(decision.state)
    finished.state.check_invariants()
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
    assert finished.state.deleting == frozenset()
    assert finished.answer == {"a": Outcome()}


def test_a_log_that_cannot_be_deleted_keeps_the_mark(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["a", "b"]).decide(two_topics)
    assert decision.then is not None
    finished = decision.then({("a", 1): ErrorCode.KAFKA_STORAGE_ERROR}).decide(decision.state)
    assert finished.state.deleting == {"a"}
    assert finished.answer == {"a": Outcome(ErrorCode.REQUEST_TIMED_OUT), "b": Outcome()}
    assert Delete("/brokers/topics/b") in finished.writes
    assert not any("a" in write.path.split("/") for write in finished.writes if isinstance(write, Delete))


def test_nothing_to_delete_decides_nothing(two_topics: ControllerState) -> None:
    decision = DeleteTopics(["none"]).decide(two_topics)
    assert decision.state is two_topics
    assert not decision.writes
    assert decision.then is None
