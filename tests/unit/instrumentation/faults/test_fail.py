"""Requests that fail on purpose, as a whole or for some of their partitions."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api.registry import SERVED
from kcompat.errors import UsageError
from kcompat.instrumentation.faults.fail import Fail
from kcompat.instrumentation.faults.selection import Chance, Selection
from kcompat.instrumentation.faults.targets import has_errors_of_topics, names_partitions, targets
from kcompat.net.answers import CLOSE
from kcompat.protocol.api_keys import ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.plan import plan_message
from support.any_requests import AnyRequests, errors_in
from support.struck import StruckServer, response_in_answer

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def kafka_name(key: ApiKey) -> str:
    return key.name.title().replace("_", "")


def of_partitions() -> list[Any]:
    """Every version that names partitions and has an error code for each of them."""
    return [
        pytest.param(api.key, version, id=f"{api.key.name} {version}")
        for api in SERVED
        for version in range(api.min_version, api.max_version + 1)
        if names_partitions(plan_message(request_class(api.key), version))
        and has_errors_of_topics(plan_message(response_class(api.key), version))
    ]


@pytest.fixture
def server() -> StruckServer:
    return StruckServer()


def fail(server: StruckServer, api: str, error: str = "NOT_LEADER_OR_FOLLOWER", **arguments: Any) -> Fail:
    served = arguments.pop("served", False)
    times = arguments.pop("times", None)
    fault = Fail(
        Selection(api, **arguments), Chance(times, 1.0, 0), server.surroundings, error=error, served=served
    )
    fault.begin()
    return fault


def produce_request(*partitions: int, acks: int = 1, topic: str = "t") -> ProduceRequest:
    rows = [ProduceRequest.PartitionProduceData(each, memoryview(b"batch")) for each in partitions]
    return ProduceRequest(acks=acks, topic_data=[ProduceRequest.TopicProduceData(topic, partition_data=rows)])


@pytest.mark.parametrize("served", [False, True])
@pytest.mark.parametrize(("key", "version"), of_partitions())
def test_one_partition_fails_and_the_others_of_its_request_are_served(
    server: StruckServer, key: ApiKey, version: int, served: bool
) -> None:
    plan = plan_message(request_class(key), version)
    message = AnyRequests(version).make(plan)
    if key is ApiKey.FETCH:
        message.session_id, message.session_epoch = 0, -1
    wanted = list(targets(message, plan))
    topic, partition = wanted[len(wanted) // 2]
    if isinstance(topic, bytes):
        server.topic_names[topic] = "by-id"
        name = "by-id"
    else:
        name = topic
    fail(server, kafka_name(key), topic=name, partition=partition, served=served)
    answer = server.send(message, version)
    if len(wanted) == 1 and not served:
        assert server.served == []
    else:
        (seen,) = server.served
        assert list(targets(seen, plan)) == [each for each in wanted if served or each != (topic, partition)]
    response, response_plan = (
        response_in_answer(message, version, answer),
        plan_message(response_class(key), version),
    )
    assert sorted(targets(response, response_plan), key=str) == sorted(wanted, key=str)
    assert list(errors_in(response, response_plan)) == [NOT_LEADER]


def test_a_request_about_another_topic_is_served_as_it_is(server: StruckServer) -> None:
    fault = fail(server, "Produce", topic="other")
    answer = server.send(produce_request(0), 9)
    assert len(server.served) == 1
    assert fault.chance.struck == 0
    assert (
        response_in_answer(produce_request(0), 9, answer).responses[0].partition_responses[0].error_code == 0
    )


def test_a_producer_without_acks_loses_its_connection(server: StruckServer) -> None:
    fail(server, "Produce", topic="t", partition=1)
    assert server.send(produce_request(1, acks=0), 9) is CLOSE
    assert server.served == []
    assert server.send(produce_request(0, 1, acks=0), 9) is CLOSE
    assert [row.index for row in server.served[0].topic_data[0].partition_data] == [0]


def test_an_error_of_a_group_fails_the_whole_request(server: StruckServer) -> None:
    fault = fail(server, "Heartbeat", "REBALANCE_IN_PROGRESS", times=1)
    request = HeartbeatRequest("g", 1, "m")
    assert (
        response_in_answer(request, 3, server.send(request, 3)).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    )
    assert not fault.is_in_force
    assert response_in_answer(request, 3, server.send(request, 3)).error_code == 0
    assert len(server.served) == 1


def test_a_request_can_be_served_before_it_fails(server: StruckServer) -> None:
    fail(server, "Produce", "REQUEST_TIMED_OUT", served=True)
    answer = server.send(produce_request(0), 9)
    (row,) = response_in_answer(produce_request(0), 9, answer).responses[0].partition_responses
    assert row.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert len(server.served) == 1


def test_fetches_list_their_partitions_while_a_fault_is_about_them(server: StruckServer) -> None:
    """A session is refused; a new one does not begin; a fetch that found an error does not wait for data."""
    fault = fail(server, "Fetch", topic="t", partition=0, times=1)
    within = FetchRequest(session_id=7, session_epoch=3)
    refused = response_in_answer(within, 11, server.send(within, 11))
    assert refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fault.chance.struck == 0
    partitions = [FetchRequest.FetchPartition(partition=each) for each in (0, 1)]
    first = FetchRequest(
        max_wait_ms=500, session_epoch=0, topics=[FetchRequest.FetchTopic("t", partitions=partitions)]
    )
    response = response_in_answer(first, 11, server.send(first, 11))
    errors = {row.partition_index: row.error_code for row in response.responses[0].partitions}
    assert errors == {0: NOT_LEADER, 1: 0}
    (served,) = server.served
    assert (served.session_epoch, served.max_wait_ms) == (-1, 0)
    assert response_in_answer(within, 11, server.send(within, 11)).error_code == 0, "the fault is over"


def test_a_topic_is_missing_from_metadata_that_is_complete_otherwise(server: StruckServer) -> None:
    fail(server, "Metadata", "LEADER_NOT_AVAILABLE", topic="t")
    topics = [MetadataRequest.MetadataRequestTopic(name=each) for each in ("t", "u")]
    request = MetadataRequest(topics=topics)
    response = response_in_answer(request, 8, server.send(request, 8))
    assert {row.name: row.error_code for row in response.topics} == {
        "t": ErrorCode.LEADER_NOT_AVAILABLE,
        "u": 0,
    }
    assert len(server.served) == 1


def test_other_brokers_are_left_alone_unless_their_client_id_is_named(server: StruckServer) -> None:
    fault = fail(server, "ListOffsets", topic="t")
    rows = [ListOffsetsRequest.ListOffsetsPartition(0)]
    request = ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic("t", rows)])
    server.send(request, 7, client_id="broker-2-fetcher-0")
    assert fault.chance.struck == 0
    named = fail(server, "ListOffsets", topic="t", client_id="broker-2-fetcher-0")
    server.send(request, 7, client_id="broker-2-fetcher-0")
    assert (fault.chance.struck, named.chance.struck) == (0, 1)


@pytest.mark.parametrize(
    ("api", "arguments", "sentence"),
    [
        ("Produse", {}, "'Produse' is not an API that brokers serve: did you mean 'Produce'?"),
        ("Vote", {}, "'Vote' is not an API that brokers serve"),
        ("Produce", {"error": "NOT_LEADER"}, "'NOT_LEADER' is not an error of Kafka: did you mean"),
        ("Produce", {"error": "NONE"}, "'NONE' is not an error: use the name of one"),
        ("Heartbeat", {"topic": "t"}, "Heartbeat requests name no topics: leave out topic='t'"),
        ("Metadata", {"topic": "t", "partition": 0}, "Metadata requests name no partitions"),
        ("Produce", {"partition": 0}, "partition=0 is of no topic"),
        ("Produce", {"topic": "t", "partition": "0"}, "partition='0' is not the number of a partition"),
        ("Produce", {"topic": ["t"]}, "topic=['t'] is not a name"),
        (
            "DescribeLogDirs",
            {"topic": "t"},
            "DescribeLogDirs responses have no place for an error of one topic",
        ),
        (None, {}, "an error needs an API"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(
    server: StruckServer, api: Any, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        fail(server, api, **arguments)
    assert str(refused.value).startswith(sentence)
