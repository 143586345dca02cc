"""Where the batch of a Produce lies that has only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.produce import ProduceRequest
from support.raw_client import request_frame

if TYPE_CHECKING:
    from support.codecs import MessageCodec

ID = bytes(range(16))
versions = pytest.mark.parametrize("version", range(3, 14))


def row(index: int = 3, records: bytes | None = b"batch") -> ProduceRequest.PartitionProduceData:
    return ProduceRequest.PartitionProduceData(index, records)


def request(
    *rows: ProduceRequest.PartitionProduceData,
    transactional_id: str | None = None,
    acks: int = 1,
    timeout_ms: int = 1000,
    topic_data: list[ProduceRequest.TopicProduceData] | None = None,
) -> ProduceRequest:
    topic = ProduceRequest.TopicProduceData(name="topic", topic_id=ID, partition_data=list(rows) or [row()])
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[topic] if topic_data is None else topic_data,
    )


def frame_of(
    message: ProduceRequest, version: int, *, correlation_id: int = 7, client_id: str | None = "me"
) -> memoryview:
    return memoryview(request_frame(message, version, correlation_id, client_id)[4:])


def find(codec: MessageCodec, frame: memoryview, version: int) -> tuple[bytes, int, int]:
    found = codec.find_single_batch(frame, version)
    assert found is not None
    return found


def head(
    codec: MessageCodec,
    message: ProduceRequest,
    version: int,
    *,
    correlation_id: int = 7,
    client_id: str | None = "me",
) -> bytes:
    frame = frame_of(message, version, correlation_id=correlation_id, client_id=client_id)
    return find(codec, frame, version)[0]


@versions
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 20_000])
@pytest.mark.parametrize("client_id", [None, "", "me", "x" * 300])
def test_its_bounds(codec: MessageCodec, version: int, size: int, client_id: str | None) -> None:
    batch = bytes(range(1, 251)) * 80
    frame = frame_of(request(row(records=batch[:size])), version, client_id=client_id)
    before, start, end = find(codec, frame, version)
    assert bytes(frame[start:end]) == batch[:size]
    assert frame[8 : 8 + len(before)] == before


@versions
def test_the_head_is_all_but_the_batch_and_the_correlation_id(codec: MessageCodec, version: int) -> None:
    usual = head(codec, request(), version)
    assert head(codec, request(row(records=b"another batch")), version) == usual
    assert head(codec, request(), version, correlation_id=8) == usual
    other = ProduceRequest.TopicProduceData(name="other", topic_id=bytes(16), partition_data=[row()])
    for different in (
        request(row(index=4)),
        request(acks=-1),
        request(timeout_ms=1001),
        request(topic_data=[other]),
    ):
        assert head(codec, different, version) != usual
    assert head(codec, request(), version, client_id="you") != usual


@versions
def test_what_has_more_or_less_is_not_found(codec: MessageCodec, version: int) -> None:
    two = request().topic_data * 2
    none = [ProduceRequest.TopicProduceData(name="topic", topic_id=ID)]
    for message in (
        request(row(), row()),
        request(topic_data=two),
        request(topic_data=[]),
        request(topic_data=none),
        request(row(records=None)),
        request(transactional_id="x"),
        request(transactional_id=""),
    ):
        assert codec.find_single_batch(frame_of(message, version), version) is None
    frame = frame_of(request(), version)
    assert codec.find_single_batch(memoryview(bytes(frame) + b"\0"), version) is None
    for end in range(len(frame)):
        assert codec.find_single_batch(frame[:end], version) is None


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("from_end", [1, 2, 3])
def test_a_tagged_field_is_not_overlooked(codec: MessageCodec, version: int, from_end: int) -> None:
    frame = bytes(frame_of(request(), version))
    at = len(frame) - from_end
    tagged = frame[:at] + b"\1\0\0" + frame[at + 1 :]
    assert codec.find_single_batch(memoryview(tagged), version) is None
    header_tags = 8 + 2 + len("me")
    tagged = frame[:header_tags] + b"\1\0\0" + frame[header_tags + 1 :]
    assert codec.find_single_batch(memoryview(tagged), version) is None
