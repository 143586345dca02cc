"""ConsumerGroupDescribe over both versions."""

from __future__ import annotations

import pytest

from kcompat.cluster.image import ClusterImage
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import IMAGE, ONE, GroupHandlers

NOT_ASKED_FOR = -(2**31)


@pytest.fixture
def broker() -> GroupHandlers:
    """A group with one member of two topics, and a classic group."""
    broker = GroupHandlers()
    broker.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            instance_id="i",
            rack_id="r",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["t1", "t2"],
            topic_partitions=[],
        ),
        1,
    )
    broker.member("classic")
    return broker


@pytest.mark.parametrize("version", range(2))
def test_describing(broker: GroupHandlers, version: int) -> None:
    (group,) = broker.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), version).groups
    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Stable")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (2, 2, "uniform")
    assert group.authorized_operations == NOT_ASKED_FOR
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id) == ("m", "i", "r")
    assert (member.member_epoch, member.client_id, member.client_host) == (2, "app", "/10.0.0.7")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t1", "t2"], "")
    assert member.member_type == (1 if version >= 1 else -1)
    for assignment in (member.assignment, member.target_assignment):
        rows = sorted((row.topic_name, row.topic_id, row.partitions) for row in assignment.topic_partitions)
        assert rows == [("t1", b"1" * 16, [0, 1]), ("t2", b"2" * 16, [0])]


def test_what_is_no_consumer_group(broker: GroupHandlers) -> None:
    answer = broker.ask(ConsumerGroupDescribeRequest(group_ids=["classic", "absent", ""]), 1)
    assert [(row.error_code, row.error_message) for row in answer.groups] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a consumer group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found."),
        (ErrorCode.INVALID_GROUP_ID, None),
    ]


def test_a_topic_that_is_gone_is_left_out(broker: GroupHandlers) -> None:
    broker.cluster.update(ClusterImage("cluster").with_topics([IMAGE.topics["t1"]]))
    (group,) = broker.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert [row.topic_id for row in group.members[0].assignment.topic_partitions] == [ONE]


def test_authorised_operations_are_told_when_asked_for(broker: GroupHandlers) -> None:
    asked = ConsumerGroupDescribeRequest(group_ids=["g", "absent"], include_authorized_operations=True)
    live, absent = broker.ask(asked, 1).groups
    assert live.authorized_operations & 1 << Operation.READ
    assert absent.authorized_operations == NOT_ASKED_FOR


def test_what_the_client_may_not_describe(broker: GroupHandlers) -> None:
    broker.authorizer = Denying(
        (Operation.DESCRIBE, Resource.group("secret")), (Operation.DESCRIBE, Resource.topic("t2"))
    )
    secret, group = broker.ask(ConsumerGroupDescribeRequest(group_ids=["g", "secret"]), 1).groups
    assert (secret.group_id, secret.error_code) == ("secret", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert (group.group_id, group.error_code) == ("g", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert group.error_message == (
        "The group has described topic(s) that the client is not authorized to describe."
    )
    assert group.members == []


def test_a_broker_that_serves_classic_groups_alone() -> None:
    broker = GroupHandlers(rebalance_protocols=frozenset({"classic"}))
    (row,) = broker.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert row.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_cluster_of_which_not_all_brokers_know_consumer_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    (row,) = broker.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert row.error_code == ErrorCode.UNSUPPORTED_VERSION
