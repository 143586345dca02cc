"""DeleteGroups over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers, commit


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(4))
def test_deleting_groups(broker: GroupHandlers, version: int) -> None:
    broker.member("live")
    broker.ask(commit({("t1", 0): 5}), 7)
    answer = broker.ask(DeleteGroupsRequest(groups_names=["g", "live", "absent", "g"]), version)
    assert [(row.group_id, row.error_code) for row in answer.results] == [
        ("g", 0),
        ("live", ErrorCode.NON_EMPTY_GROUP),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert broker.ask(DeleteGroupsRequest(), version).results == []


def test_share_groups_are_deleted_with_their_share_partitions(broker: GroupHandlers) -> None:
    broker.share_groups.alter_offsets("g", {"t1": {0: 4}})
    assert len(broker.shares.states()) == 1
    (row,) = broker.ask(DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert (row.group_id, row.error_code) == ("g", 0)
    assert not broker.shares.states()


def test_deleting_groups_waits_for_all(broker: GroupHandlers) -> None:
    broker.ask(commit({("t1", 0): 5}, "a"), 7)
    broker.ask(commit({("t1", 0): 5}, "b"), 7)
    broker.fixture.log.hold()
    answer = broker.ask(DeleteGroupsRequest(groups_names=["a", "b"]), 2)
    assert not answer.done
    broker.fixture.log.release()
    assert [row.error_code for row in answer.value.results] == [0, 0]


def test_needs_to_delete_each_group(broker: GroupHandlers) -> None:
    broker.ask(commit({("t1", 0): 5}, "a"), 7)
    broker.ask(commit({("t1", 0): 5}, "b"), 7)
    broker.authorizer = Denying((Operation.DELETE, Resource.group("b")))
    answer = broker.ask(DeleteGroupsRequest(groups_names=["a", "b"]), 2)
    assert [(row.group_id, row.error_code) for row in answer.results] == [("a", 0), ("b", 30)]
    assert broker.fixture.group("b") is not None
