"""LeaveGroup over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves_before_version_3(broker: GroupHandlers, version: int) -> None:
    member = broker.member()
    stranger = LeaveGroupRequest(group_id="g", member_id="x")
    assert broker.ask(stranger, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.ask(LeaveGroupRequest(group_id="g", member_id=member), version).error_code == 0
    assert broker.fixture.describe_state("g") == "Empty"


@pytest.mark.parametrize("version", range(3, 6))
def test_many_members_leave_from_version_3(broker: GroupHandlers, version: int) -> None:
    member = broker.member()
    identity = LeaveGroupRequest.MemberIdentity
    request = LeaveGroupRequest(
        group_id="g",
        members=[identity(member_id=member), identity(member_id="", group_instance_id="i")],
    )
    answer = broker.ask(request, version)
    assert answer.error_code == 0
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members] == [
        (member, None, 0),
        ("", "i", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_needs_to_read_the_group(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert broker.ask(LeaveGroupRequest(group_id="g"), 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
