"""DescribeGroups over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(7))
def test_describing(broker: GroupHandlers, version: int) -> None:
    member_id = broker.member()
    live, absent = broker.ask(DescribeGroupsRequest(groups=["g", "absent"]), version).groups
    assert (live.error_code, live.group_state, live.protocol_type, live.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    (member,) = live.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "app", "/10.0.0.7")
    assert (member.member_metadata, member.member_assignment) == (b"meta", b"all")
    assert absent.group_state == "Dead"
    told = (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found.") if version >= 6 else (0, None)
    assert (absent.error_code, absent.error_message) == told


def test_authorised_operations_are_told_when_asked_for(broker: GroupHandlers) -> None:
    broker.member()
    asked = DescribeGroupsRequest(groups=["g"], include_authorized_operations=True)
    told = broker.ask(asked, 5).groups[0].authorized_operations
    read, delete, describe = 1 << 3, 1 << 6, 1 << 8
    assert told & (read | delete | describe) == read | delete | describe
    asked.include_authorized_operations = False
    assert broker.ask(asked, 5).groups[0].authorized_operations == -(2**31)


def test_groups_that_may_not_be_described_show_nothing(broker: GroupHandlers) -> None:
    broker.member("a")
    broker.member("b")
    broker.authorizer = Denying(
        (Operation.DESCRIBE, Resource.group("b")), (Operation.READ, Resource.group("a"))
    )
    answer = broker.ask(DescribeGroupsRequest(groups=["a", "b"], include_authorized_operations=True), 5)
    rows = [(row.error_code, row.group_state, row.authorized_operations) for row in answer.groups]
    assert rows == [(0, "Stable", 1 << Operation.DELETE | 1 << Operation.DESCRIBE), (30, "", -(2**31))]
