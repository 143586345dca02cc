"""The handler of StreamsGroupHeartbeat."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.kinds.streams.configured import StatusCode
from kcompat.group.kinds.streams.settings import StreamsGroupConfig
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.default_settings import with_defaults
from support.group_apis import GroupHandlers, streaming

Request = StreamsGroupHeartbeatRequest


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers(
        streams=with_defaults(StreamsGroupConfig, initial_delay_ms=0, assignment_interval_ms=0)
    )


def beat(broker: GroupHandlers, epoch: int = 0, *topics: str, **fields: Any) -> Any:
    """The answer to a heartbeat."""
    return broker.ask(streaming(epoch, *topics, **fields), 0)


def rows(tasks: Any) -> list[tuple[str, list[int]]] | None:
    """Tasks by subtopology."""
    return None if tasks is None else [(row.subtopology_id, row.partitions) for row in tasks]


def statuses(answer: Any) -> list[tuple[int, str]]:
    """Return code and detail of each status in the answer."""
    return [(status.status_code, status.status_detail) for status in answer.status]


def reading(*topics: str, **fields: Any) -> dict[str, Any]:
    """A topology of one subtopology, as a field of a request."""
    return {"topology": Request.Topology(0, [Request.Subtopology("0", list(topics), **fields)])}


def with_changelogs(*names: str) -> dict[str, Any]:
    """A topology that keeps state."""
    configs = [Request.KeyValue("cleanup.policy", "compact")]
    logs = [Request.TopicInfo(name, 0, 2, configs) for name in names]
    return reading("t1", state_changelog_topics=logs)


def test_a_member_joins_goes_on_and_leaves(broker: GroupHandlers) -> None:
    endpoint, tags = Request.Endpoint("here", 7), [Request.KeyValue("k", "v")]
    joined = beat(broker, 0, "t1", user_endpoint=endpoint, client_tags=tags, rack_id="r")
    assert (joined.error_code, joined.error_message, joined.status) == (0, None, [])
    assert (joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == ("m", 2, 5_000)
    assert rows(joined.active_tasks) == [("0", [0, 1])]
    assert (rows(joined.standby_tasks), rows(joined.warmup_tasks)) == ([], [])
    (place,) = joined.partitions_by_user_endpoint
    assert (place.user_endpoint.host, place.user_endpoint.port) == ("here", 7)
    assert [(row.topic, row.partitions) for row in place.active_partitions] == [("t1", [0, 1])]
    assert place.standby_partitions == []
    told = beat(broker, 2)
    assert (told.active_tasks, told.partitions_by_user_endpoint) == (None, None)
    owned = {"active_tasks": [Request.TaskIds("0", [0, 1])], "standby_tasks": [], "warmup_tasks": []}
    assert beat(broker, 2, **owned).error_code == 0
    left = beat(broker, -1, topology=None)
    assert (left.error_code, left.member_id, left.member_epoch) == (0, "m", -1)


def test_missing_topics_are_made(broker: GroupHandlers) -> None:
    joined = beat(broker, **with_changelogs("log"))
    assert statuses(joined) == [(StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: log")]
    (spec,) = broker.topics_to_make
    assert (spec.name, spec.num_partitions, spec.replication_factor) == ("log", 2, 2)
    assert spec.configs == (("cleanup.policy", "compact"),)


def test_a_member_is_told_why_topics_were_not_made(broker: GroupHandlers) -> None:
    broker.refusal = "no"
    joined = beat(broker, **with_changelogs("a", "b", "c", "d"))
    ((code, detail),) = statuses(joined)
    assert code == StatusCode.MISSING_INTERNAL_TOPICS
    assert detail == (
        "Internal topics are missing: a, b, c and 1 additional topics; "
        "Creation failed: a (no), b (no), c (no) and 1 more."
    )
    made = len(broker.topics_to_make)
    beat(broker, joined.member_epoch)
    assert len(broker.topics_to_make) == made, "not again so soon"
    broker.fixture.clock.advance(10_000)
    beat(broker, joined.member_epoch)
    assert len(broker.topics_to_make) == 2 * made


def test_who_may_not_create_topics_has_others_do_it(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.CREATE, CLUSTER), (Operation.CREATE, Resource.topic("a")))
    joined = beat(broker, **with_changelogs("a", "b"))
    assert [detail for _, detail in statuses(joined)] == [
        "Internal topics are missing: a, b; Unauthorized to CREATE on topics a."
    ]
    assert broker.topics_to_make == []
    broker.authorizer = Denying((Operation.CREATE, CLUSTER))
    beat(broker, joined.member_epoch)
    assert [spec.name for spec in broker.topics_to_make] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": "i"}, ErrorCode.INVALID_REQUEST),
        ({"task_offsets": []}, ErrorCode.INVALID_REQUEST),
        ({"task_end_offsets": []}, ErrorCode.INVALID_REQUEST),
        ({"warmup_tasks": [Request.TaskIds("0", [0])]}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 1, "topology": None}, ErrorCode.GROUP_ID_NOT_FOUND),
        (reading("t1", source_topic_regex=["a.*"]), ErrorCode.INVALID_REQUEST),
        (reading(), ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (reading("__consumer_offsets"), ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (reading("not good"), ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (reading("t1", repartition_sink_topics=[""]), ErrorCode.STREAMS_INVALID_TOPOLOGY),
    ],
)
def test_what_is_refused(broker: GroupHandlers, fields: dict[str, Any], error: ErrorCode) -> None:
    answer = beat(broker, 0, "t1", **fields)
    assert (answer.error_code, bool(answer.error_message)) == (error, True)


def test_who_may_not(broker: GroupHandlers) -> None:
    for denied, error in (
        ((Operation.READ, Resource.group("g")), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((Operation.DESCRIBE, Resource.topic("t2")), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ):
        broker.authorizer = Denying(denied)
        assert beat(broker, 0, "t1", "t2").error_code == error
    assert not beat(broker, 0, "t1").error_code


def test_a_cluster_without_streams_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert beat(broker, 0, "t1").error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_broker_that_does_not_serve_them() -> None:
    broker = GroupHandlers(rebalance_protocols=frozenset({"classic", "consumer"}))
    assert beat(broker, 0, "t1").error_code == ErrorCode.UNSUPPORTED_VERSION
