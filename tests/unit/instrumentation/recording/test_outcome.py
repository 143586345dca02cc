"""The topics, groups and errors in messages."""

from __future__ import annotations

from kcompat.instrumentation.recording.outcome import groups_of, refusals_of, topics_of
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse

ORDERS = b"o" * 16
NAMES = {ORDERS: "orders"}


def test_topics_are_found_by_name_and_by_id() -> None:
    topics = [
        MetadataRequest.MetadataRequestTopic(name="a"),
        MetadataRequest.MetadataRequestTopic(topic_id=ORDERS),
    ]
    assert topics_of(MetadataRequest(topics=topics), NAMES) == ["a", "orders"]
    unknown = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(topic_id=b"x" * 16)])
    assert topics_of(unknown, NAMES) == ["eHh4eHh4eHh4eHh4eHh4eA"]
    assert topics_of(DeleteTopicsRequest(topic_names=["b", "c", "b"]), NAMES) == ["b", "c"]
    assert topics_of(ConsumerGroupHeartbeatRequest(subscribed_topic_names=["d"]), NAMES) == ["d"]


def test_a_config_of_a_topic_is_no_topic() -> None:
    config = CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="1")
    topic = CreateTopicsRequest.CreatableTopic(name="t", configs=[config])
    assert topics_of(CreateTopicsRequest(topics=[topic]), NAMES) == ["t"]


def test_resources_are_topics_where_their_type_says_so() -> None:
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name)
        for kind, name in ((2, "orders"), (4, "0"))
    ]
    assert topics_of(DescribeConfigsRequest(resources=resources), NAMES) == ["orders"]


def test_groups_are_found_in_every_form() -> None:
    assert groups_of(OffsetFetchRequest(group_id="g")) == ["g"]
    several = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id="h")])
    assert groups_of(several) == ["h"]
    assert groups_of(DescribeGroupsRequest(groups=["i"])) == ["i"]
    assert groups_of(DeleteGroupsRequest(groups_names=["j"])) == ["j"]
    assert groups_of(FindCoordinatorRequest(coordinator_keys=["k"])) == ["k"]
    assert groups_of(FindCoordinatorRequest(key="l")) == ["l"]
    assert groups_of(FindCoordinatorRequest(key="a transaction", key_type=1)) == []


def test_an_error_has_the_topic_and_the_partition_above_it() -> None:
    rows = [
        ProduceResponse.PartitionProduceResponse(index=0),
        ProduceResponse.PartitionProduceResponse(index=2, error_code=10, error_message="too large"),
    ]
    answer = ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name="a", partition_responses=rows)]
    )
    (refusal,) = refusals_of(answer, NAMES)
    assert (refusal.error, refusal.topic, refusal.partition) == ("MESSAGE_TOO_LARGE", "a", 2)
    assert (refusal.message, str(refusal)) == ("too large", "a-2 MESSAGE_TOO_LARGE")


def test_an_error_without_a_partition_names_what_it_is_about() -> None:
    topic = CreateTopicsResponse.CreatableTopicResult(name="t", error_code=36)
    assert str(refusals_of(CreateTopicsResponse(topics=[topic]), NAMES)[0]) == "t TOPIC_ALREADY_EXISTS"
    coordinator = FindCoordinatorResponse.Coordinator(key="g", error_code=15)
    (refusal,) = refusals_of(FindCoordinatorResponse(coordinators=[coordinator]), NAMES)
    assert str(refusal) == "g COORDINATOR_NOT_AVAILABLE"


def test_an_error_of_the_whole_answer_stands_alone_and_a_new_number_is_shown() -> None:
    assert str(refusals_of(FindCoordinatorResponse(error_code=-1), NAMES)[0]) == "UNKNOWN_SERVER_ERROR"
    assert str(refusals_of(FindCoordinatorResponse(error_code=999), NAMES)[0]) == "error 999"
