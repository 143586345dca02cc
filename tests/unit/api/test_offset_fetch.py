"""OffsetFetch over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import ONE, STRANGE, GroupHandlers, commit, errors, fetch, fetch_groups, offsets
from support.group_coordinators import PARTITIONS


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(8))
def test_fetches_of_one_group(broker: GroupHandlers, version: int) -> None:
    broker.ask(commit({("t1", 0): 5}), 7)
    absent = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
    answer = broker.ask(fetch({"t1": [0, 1], "no": [0]}), version)
    assert offsets(answer) == {("t1", 0): (5, 0), ("t1", 1): (-1, absent), ("no", 0): (-1, absent)}
    assert answer.error_code == 0


@pytest.mark.parametrize("version", range(2, 8))
def test_fetches_of_all_partitions(broker: GroupHandlers, version: int) -> None:
    broker.ask(commit({("t2", 0): 7, ("t1", 1): 6, ("t1", 0): 5}), 7)
    assert offsets(broker.ask(fetch(None), version)) == {
        ("t1", 0): (5, 0),
        ("t1", 1): (6, 0),
        ("t2", 0): (7, 0),
    }
    assert broker.ask(fetch(None, "absent"), version).topics == []
    assert broker.ask(fetch({}), version).topics == []


@pytest.mark.parametrize("version", [8, 9])
def test_fetches_of_many_groups(broker: GroupHandlers, version: int) -> None:
    broker.ask(commit({("t1", 0): 5}), 7)
    answer = broker.ask(fetch_groups({"g": {"t1": [0, 1]}, "absent": {"t1": [0]}, "": None}), version)
    assert [group.group_id for group in answer.groups] == ["g", "absent", ""]
    assert offsets(answer.groups[0]) == {("t1", 0): (5, 0), ("t1", 1): (-1, 0)}
    assert offsets(answer.groups[1]) == {("t1", 0): (-1, 0)}
    assert answer.groups[2].topics == []


def test_fetches_by_topic_id(broker: GroupHandlers) -> None:
    broker.ask(commit({(ONE, 0): 5}), 10)
    broker.fixture.commit({("deleted", 0): 9}, group_id="g")
    answer = broker.ask(fetch_groups({"g": {ONE: [0], STRANGE: [3]}}), 10)
    assert offsets(answer.groups[0]) == {
        (ONE, 0): (5, 0),
        (STRANGE, 3): (-1, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    everything = broker.ask(fetch_groups({"g": None}), 10)
    assert offsets(everything.groups[0]) == {(ONE, 0): (5, 0)}


def test_where_a_group_s_error_stands(broker: GroupHandlers) -> None:
    for partition in range(PARTITIONS):
        broker.fixture.coordinator.unload(partition, leader_epoch=2)
    lost = ErrorCode.NOT_COORDINATOR
    assert offsets(broker.ask(fetch({"t1": [0]}), 1)) == {("t1", 0): (-1, lost)}
    single = broker.ask(fetch({"t1": [0]}), 2)
    assert (single.error_code, single.topics) == (lost, [])
    many = broker.ask(fetch_groups({"g": {"t1": [0]}}), 8).groups[0]
    assert (many.error_code, many.topics) == (lost, [])
    assert errors(broker.ask(commit({("t1", 0): 1}), 7)) == {("t1", 0): lost}


def test_topics_that_may_not_be_described_are_refused_or_left_out(broker: GroupHandlers) -> None:
    broker.ask(commit({("t1", 0): 5, ("t2", 0): 6}), 7)
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic("t2")))
    named = broker.ask(fetch({"t1": [0], "t2": [0]}), 5)
    assert offsets(named) == {("t1", 0): (5, 0), ("t2", 0): (-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    assert offsets(broker.ask(fetch(None), 5)) == {("t1", 0): (5, 0)}


def test_needs_to_describe_each_group(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.group("b")))
    answer = broker.ask(fetch_groups({"a": {"t1": [0]}, "b": {"t1": [0]}}), 8)
    assert [(row.group_id, row.error_code, len(row.topics)) for row in answer.groups] == [
        ("a", 0, 1),
        ("b", 30, 0),
    ]
    assert broker.ask(fetch({"t1": [0]}, "b"), 2).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert offsets(broker.ask(fetch({"t1": [0]}, "b"), 1)) == {("t1", 0): (-1, 30)}
