"""The handler of ShareGroupDescribe."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.cluster.image import ClusterImage
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import ONE, TWO, GroupHandlers, settle_sharer

NOT_ASKED_FOR = -(2**31)


@pytest.fixture
def broker() -> GroupHandlers:
    """A group with one member of two topics, and a classic group."""
    broker = GroupHandlers()
    settle_sharer(broker, "t1", "t2")
    broker.member("classic")
    return broker


def describe(broker: GroupHandlers, *group_ids: str, **fields: Any) -> Any:
    """The groups of the answer."""
    return broker.ask(ShareGroupDescribeRequest(group_ids=list(group_ids), **fields), 1).groups


def test_describing(broker: GroupHandlers) -> None:
    (group,) = describe(broker, "g")
    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Stable")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (3, 3, "simple")
    assert group.authorized_operations == NOT_ASKED_FOR
    (member,) = group.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m", "r", 3)
    assert (member.client_id, member.client_host) == ("app", "/10.0.0.7")
    assert member.subscribed_topic_names == ["t1", "t2"]
    rows = [(row.topic_name, row.topic_id, row.partitions) for row in member.assignment.topic_partitions]
    assert sorted(rows) == [("t1", ONE, [0, 1]), ("t2", TWO, [0])]
    (group,) = describe(broker, "g", include_authorized_operations=True)
    assert group.authorized_operations > 0


def test_what_is_no_share_group(broker: GroupHandlers) -> None:
    assert [(row.error_code, row.error_message) for row in describe(broker, "classic", "absent", "")] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a share group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found."),
        (ErrorCode.INVALID_GROUP_ID, None),
    ]


def test_topics_that_are_gone_are_left_out(broker: GroupHandlers) -> None:
    broker.cluster.update(ClusterImage("cluster"))
    assert describe(broker, "g")[0].members[0].assignment.topic_partitions == []


def test_who_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.group("g")))
    assert [(row.group_id, row.error_code) for row in describe(broker, "absent", "g")] == [
        ("g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic("t2")))
    (group,) = describe(broker, "g")
    assert (group.error_code, group.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])


def test_a_cluster_without_share_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert [row.error_code for row in describe(broker, "g")] == [ErrorCode.UNSUPPORTED_VERSION]
