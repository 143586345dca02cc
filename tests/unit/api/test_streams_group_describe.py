"""The handler of StreamsGroupDescribe."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.kinds.streams.settings import StreamsGroupConfig
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.default_settings import with_defaults
from support.group_apis import GroupHandlers, streaming

NOT_ASKED_FOR = -(2**31)
Request = StreamsGroupHeartbeatRequest


@pytest.fixture
def broker() -> GroupHandlers:
    """A group with one member, and a classic group."""
    broker = GroupHandlers(streams=with_defaults(StreamsGroupConfig, initial_delay_ms=0))
    configs = [Request.KeyValue("cleanup.policy", "compact")]
    log = Request.TopicInfo("log", 0, 2, configs)
    subtopologies = [Request.Subtopology("0", ["t2", "t1"], [], [log], ["sink"])]
    topology = Request.Topology(0, subtopologies)
    endpoint, tags = Request.Endpoint("here", 7), [Request.KeyValue("k", "v")]
    broker.ask(streaming(0, topology=topology, rack_id="r", user_endpoint=endpoint, client_tags=tags), 0)
    broker.member("classic")
    return broker


def describe(broker: GroupHandlers, *group_ids: str, **fields: Any) -> Any:
    """The groups of the answer."""
    return broker.ask(StreamsGroupDescribeRequest(group_ids=list(group_ids), **fields), 0).groups


def test_describing(broker: GroupHandlers) -> None:
    (group,) = describe(broker, "g")
    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "NotReady")
    assert (group.group_epoch, group.assignment_epoch) == (2, 2)
    assert group.authorized_operations == NOT_ASKED_FOR
    (subtopology,) = group.topology.subtopologies
    assert (group.topology.epoch, subtopology.subtopology_id) == (0, "0")
    assert (subtopology.source_topics, subtopology.repartition_sink_topics) == (["t1", "t2"], ["sink"])
    (log,) = subtopology.state_changelog_topics
    assert (log.name, log.partitions, log.replication_factor) == ("log", 0, 2)
    assert [(row.key, row.value) for row in log.topic_configs] == [("cleanup.policy", "compact")]
    assert subtopology.repartition_source_topics == []
    (member,) = group.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m", "r", 2)
    assert (member.client_id, member.client_host) == ("app", "/10.0.0.7")
    assert (member.process_id, member.topology_epoch, member.is_classic) == ("p", 0, False)
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("here", 7)
    assert [(row.key, row.value) for row in member.client_tags] == [("k", "v")]
    assert (member.assignment.active_tasks, member.target_assignment.active_tasks) == ([], [])
    (group,) = describe(broker, "g", include_authorized_operations=True)
    assert group.authorized_operations > 0


def test_tasks_are_described(broker: GroupHandlers) -> None:
    broker.ask(streaming(0, "t1", group_id="h"), 0)
    (group,) = describe(broker, "h")
    (member,) = group.members
    for assignment in (member.assignment, member.target_assignment):
        assert [(row.subtopology_id, row.partitions) for row in assignment.active_tasks] == [("0", [0, 1])]
        assert (assignment.standby_tasks, assignment.warmup_tasks) == ([], [])


def test_what_is_no_streams_group(broker: GroupHandlers) -> None:
    assert [(row.error_code, row.error_message) for row in describe(broker, "classic", "absent", "")] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a streams group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found."),
        (ErrorCode.INVALID_GROUP_ID, None),
    ]


def test_who_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.group("g")))
    assert [(row.group_id, row.error_code) for row in describe(broker, "absent", "g")] == [
        ("g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    for topic in ("t2", "sink", "log"):
        broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic(topic)))
        (group,) = describe(broker, "g")
        assert (group.error_code, group.topology, group.members) == (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            None,
            [],
        )


def test_a_cluster_without_streams_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert [row.error_code for row in describe(broker, "g")] == [ErrorCode.UNSUPPORTED_VERSION]
