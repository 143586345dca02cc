"""ListGroups over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(6))
def test_listing(broker: GroupHandlers, version: int) -> None:
    broker.member()
    (group,) = broker.ask(ListGroupsRequest(), version).groups
    assert (group.group_id, group.protocol_type) == ("g", "consumer")
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [(["STABLE"], [], True), (["Empty"], [], False), ([], ["Classic"], True), ([], ["consumer"], False)],
)
def test_listing_by_state_and_type(
    broker: GroupHandlers, states: list[str], types: list[str], listed: bool
) -> None:
    broker.member()
    answer = broker.ask(ListGroupsRequest(states_filter=states, types_filter=types), 5)
    assert bool(answer.groups) == listed


def test_who_may_not_describe_the_cluster_sees_the_groups_it_may_describe(broker: GroupHandlers) -> None:
    broker.member("a")
    broker.member("b")
    hidden = (Operation.DESCRIBE, Resource.group("b"))
    broker.authorizer = Denying(hidden)
    assert {row.group_id for row in broker.ask(ListGroupsRequest(), 4).groups} == {"a", "b"}
    broker.authorizer = Denying(hidden, (Operation.DESCRIBE, CLUSTER))
    assert [row.group_id for row in broker.ask(ListGroupsRequest(), 4).groups] == ["a"]
