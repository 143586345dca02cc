"""Recorded requests as users see them."""

from __future__ import annotations

import pytest

from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest, api_name, api_named
from kcompat.instrumentation.recording.exchange import RecordedEvent
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.recorded import answer_of, exchange_of, frame_of


def test_a_line_says_who_asked_what_and_what_came_of_it() -> None:
    rows = [ProduceResponse.PartitionProduceResponse(index=0, error_code=6)]
    answer = ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name="t", partition_responses=rows)]
    )
    topic = ProduceRequest.TopicProduceData(name="t")
    exchange = exchange_of(frame_of(ProduceRequest(topic_data=[topic]), 9), answer_of(answer, 9))
    exchange.duration_ns = 1_230_000
    request = RecordedRequest(exchange, 0, {})
    _, line = repr(request).split(" ", 1)
    assert line == "app Produce v9 t: t-0 NOT_LEADER_OR_FOLLOWER in 1.2 ms"
    assert (request.client_id, request.api, request.version) == ("app", "Produce", 9)
    assert (request.principal, request.peer) == ("User:ANONYMOUS", "127.0.0.1:40000")
    assert (request.failed, request.duration_ms) == (True, 1.23)


def test_a_group_is_named() -> None:
    exchange = exchange_of(frame_of(HeartbeatRequest(group_id="g"), 4), answer_of(HeartbeatResponse(), 4))
    request = RecordedRequest(exchange, 0, {})
    assert (request.group, request.outcome, request.failed) == ("g", "ok", False)
    assert "Heartbeat v4 group g: ok in" in repr(request)


def test_the_id_of_a_new_member_is_no_failure() -> None:
    exchange = exchange_of(
        frame_of(JoinGroupRequest(group_id="g"), 6), answer_of(JoinGroupResponse(error_code=79), 6)
    )
    request = RecordedRequest(exchange, 0, {})
    assert (request.outcome, request.failed) == ("MEMBER_ID_REQUIRED", False)


def test_many_topics_are_counted() -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in "abcde"]
    exchange = exchange_of(frame_of(MetadataRequest(topics=topics), 9), answer_of(MetadataResponse(), 9))
    assert "Metadata v9 a, b, c and 2 more: ok" in repr(RecordedRequest(exchange, 0, {}))


def test_what_has_no_answer_says_why() -> None:
    silent = RecordedRequest(exchange_of(frame_of(ProduceRequest(), 9), None), 0, {})
    assert (silent.outcome, silent.response, silent.failed) == ("no answer wanted", None, False)
    closed = RecordedRequest(exchange_of(b"GET / HTTP/1.1", None), 0, {})
    assert (closed.api, closed.request, closed.version) == ("", None, -1)
    assert "14 bytes that are no request" in repr(closed)


def test_fields_are_plain_values_with_records_decoded() -> None:
    record = Record(0, 1000, b"k", b"v", (("h", b"1"),))
    data = ProduceRequest.PartitionProduceData(index=1, records=bytes(build_batch([record])))
    topic = ProduceRequest.TopicProduceData(topic_id=b"x" * 16, partition_data=[data])
    exchange = exchange_of(frame_of(ProduceRequest(acks=-1, topic_data=[topic]), 13), None)
    fields = RecordedRequest(exchange, 0, {}).request
    assert fields is not None
    assert fields["acks"] == -1
    assert fields["topic_data"][0]["topic_id"] == "eHh4eHh4eHh4eHh4eHh4eA"
    assert "name" not in fields["topic_data"][0]  # this version has ids alone
    (batch,) = fields["topic_data"][0]["partition_data"][0]["records"]
    assert batch["record_count"] == 1
    assert batch["records"] == [
        {"offset": 0, "timestamp": 1000, "key": b"k", "value": b"v", "headers": [("h", b"1")]}
    ]


@pytest.mark.parametrize("name", ["ListOffsets", "list_offsets", "LISTOFFSETS"])
def test_an_api_is_known_by_any_form_of_its_name(name: str) -> None:
    assert api_named(name) is ApiKey.LIST_OFFSETS
    assert api_name(ApiKey.LIST_OFFSETS) == "ListOffsets"
    assert api_named("Listen") is None


def test_a_line_of_a_request_or_an_event_has_no_control_character() -> None:
    request = HeartbeatRequest(group_id="g\x1b[31m\n")
    exchange = exchange_of(frame_of(request, 4, client_id="c\x9b2J\r"), answer_of(HeartbeatResponse(), 4))
    assert "c\\x9b2J\\r Heartbeat v4 group g\\x1b[31m\\n: ok" in repr(RecordedRequest(exchange, 0, {}))
    event = ConnectionEvent(RecordedEvent(0, "complaint", "h\x1b", text="m\nn"), 0)
    assert repr(event).endswith("h\\x1b complaint: m\\nn")
