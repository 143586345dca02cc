"""Recorded requests in the form that another broker takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.instrumentation.recording.decoding import read_request
from kcompat.instrumentation.replay.correspondence import Correspondence, kind_of
from kcompat.instrumentation.replay.rewriting import Rewriter, Rewritten
from kcompat.instrumentation.request_head import read_head
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.uuids import uuid_to_text
from kcompat.records.batch import build_batch, crc_matches, read_header, set_producer
from kcompat.records.record import Record
from support.recorded import frame_of

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

OLD, NEW = b"o" * 16, b"n" * 16


def rewritten(request: Message, version: int, ids: Correspondence, latest: int) -> Any:
    """The message that is sent for a request."""
    rewriter = Rewriter(ids, {OLD: "orders"}, {request.api_key: latest})
    found = rewriter.rewritten(frame_of(request, version), 77)
    assert isinstance(found, Rewritten), found
    head = read_head(found.frame[4:])
    assert (head.correlation_id, head.client_id) == (77, "app")
    assert head.version == found.version == min(version, latest)
    return read_request(found.frame[4:], head)


def test_members_and_generations_are_those_of_the_broker() -> None:
    ids = Correspondence()
    generation = kind_of("generation_id", "g")
    assert generation is not None
    ids.agree(generation, 1, 4)
    ids.agree(("member",), "old-member", "new-member")
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="old-member")
    message = rewritten(request, 4, ids, 4)
    assert (message.generation_id, message.member_id) == (4, "new-member")
    other = rewritten(HeartbeatRequest(group_id="other", generation_id=1), 4, ids, 4)
    assert other.generation_id == 1


def test_a_topic_has_the_id_of_the_broker_or_its_name_in_versions_without_ids() -> None:
    ids = Correspondence()
    ids.agree(("topic",), uuid_to_text(OLD), uuid_to_text(NEW))
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=OLD)])
    assert rewritten(request, 13, ids, 17).topics[0].topic_id == NEW
    assert rewritten(request, 13, ids, 12).topics[0].topic == "orders"


def test_the_producer_of_batches_is_replaced_and_their_checksum_made_anew() -> None:
    batch = bytearray(build_batch([Record(0, 1000, None, b"v")]))
    set_producer(memoryview(batch), 0, 5, 2)
    data = ProduceRequest.PartitionProduceData(records=bytes(batch))
    request = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[data])])
    ids = Correspondence()
    ids.agree(("producer",), 5, 6000)
    sent = memoryview(bytes(rewritten(request, 9, ids, 9).topic_data[0].partition_data[0].records))
    header = read_header(sent)
    assert (header.producer_id, header.producer_epoch) == (6000, 2)
    assert crc_matches(sent, 0, header.size)


def test_a_request_that_cannot_be_sent_gives_the_reason() -> None:
    rewriter = Rewriter(Correspondence(), {}, {int(InitProducerIdRequest.api_key): 2})
    assert rewriter.rewritten(b"\0\0", 1) == "not recorded as a whole"
    assert rewriter.rewritten(frame_of(HeartbeatRequest(), 4), 1) == "the broker does not serve HEARTBEAT"
    too_new = frame_of(InitProducerIdRequest(producer_id=5, producer_epoch=1), 4)
    reason = rewriter.rewritten(too_new, 1)
    assert isinstance(reason, str)
    assert reason.startswith("the broker serves version 2, which cannot carry it")
