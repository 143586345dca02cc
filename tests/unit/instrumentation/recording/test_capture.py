"""The bytes that are kept of requests and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from kcompat.instrumentation.recording.capture import HEAD, Capture, Keeping
from kcompat.instrumentation.recording.decoding import read_request, read_response
from kcompat.instrumentation.recording.exchange import Fate
from kcompat.instrumentation.request_head import read_head
from kcompat.net.answers import CLOSE, Answer, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch, iter_headers
from kcompat.records.record import Record
from support.recorded import KEEPING, FakeConnection, Heard, answer_of, exchange_of, frame_of

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.net.answers import Connection

HEARTBEAT = frame_of(HeartbeatRequest(group_id="g", member_id="m"), 4)
ANSWER = b"".join(answer_of(HeartbeatResponse(error_code=27), 4))


def test_a_request_and_its_answer_are_kept_as_bytes() -> None:
    exchange = exchange_of(HEARTBEAT, [ANSWER])
    assert (exchange.request, exchange.answer) == (HEARTBEAT, (ANSWER,))
    assert (exchange.fate, exchange.request_size) == (Fate.ANSWERED, len(HEARTBEAT))
    assert (exchange.host, exchange.port, exchange.listener) == ("127.0.0.1", 40000, "PLAINTEXT")
    assert exchange.duration_ns > 0


def test_the_frame_is_copied_before_the_broker_writes_into_it() -> None:
    heard = Heard()

    def serve(_connection: Connection, frame: memoryview) -> Answer:
        frame[:] = bytes(len(frame))
        return [ANSWER]

    connection = cast("Connection", FakeConnection())
    Capture(heard, KEEPING).intercept(serve, connection, memoryview(bytearray(HEARTBEAT)))
    assert heard.exchanges[0].request == HEARTBEAT


@pytest.mark.parametrize(("answer", "fate"), [(None, Fate.SILENT), (CLOSE, Fate.CLOSED)])
def test_a_request_may_have_no_answer(answer: Answer, fate: Fate) -> None:
    exchange = exchange_of(HEARTBEAT, answer)
    assert (exchange.fate, exchange.answer) == (fate, ())


def test_a_waiting_request_is_completed_when_its_answer_comes() -> None:
    heard, first, second = Heard(), Promise[Answer](), Promise[Answer]()
    answer = Waiting(first, Mode.BLOCKING)
    connection = cast("Connection", FakeConnection())
    given = Capture(heard, KEEPING).intercept(lambda *_: answer, connection, memoryview(HEARTBEAT))
    assert given is answer
    (exchange,) = heard.exchanges
    assert (exchange.fate, exchange.duration_ns, heard.settled) == (Fate.WAITING, 0, 0)
    first.complete(Waiting(second, Mode.BLOCKING))
    assert (exchange.fate, heard.settled) == (Fate.WAITING, 0)
    second.complete([ANSWER])
    assert (exchange.fate, exchange.answer, heard.settled) == (Fate.ANSWERED, (ANSWER,), 1)
    assert exchange.duration_ns > 0


def test_a_request_whose_handler_raises_counts_as_closed() -> None:
    heard = Heard()

    def serve(_connection: Connection, _frame: memoryview) -> Answer:
        raise RuntimeError("fault")

    with pytest.raises(RuntimeError, match="fault"):
        Capture(heard, KEEPING).intercept(serve, cast("Connection", FakeConnection()), memoryview(HEARTBEAT))
    assert heard.exchanges[0].fate is Fate.CLOSED


def produced(sizes: list[int]) -> bytes:
    """A produce with one batch of each size."""
    data = [
        ProduceRequest.PartitionProduceData(
            index=index, records=bytes(build_batch([Record(0, 1000, None, bytes(size))] * 2))
        )
        for index, size in enumerate(sizes)
    ]
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=data)
    return frame_of(ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic]), 9)


def test_of_a_large_produce_the_headers_of_its_batches_are_kept() -> None:
    frame = produced([9000, 20000])
    exchange = exchange_of(frame, [ANSWER])
    assert exchange.request_size == len(frame) > 50000
    assert len(exchange.request) < 300
    request = read_request(exchange.request, read_head(exchange.request))
    assert isinstance(request, ProduceRequest)
    kept = request.topic_data[0].partition_data
    assert [each.index for each in kept] == [0, 1]
    assert [len(each.records or b"") for each in kept] == [61, 61]


def test_of_another_large_request_the_head_is_kept() -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=f"topic-{number:04}") for number in range(1000)]
    frame = frame_of(MetadataRequest(topics=topics), 9)
    exchange = exchange_of(frame, [ANSWER])
    assert len(exchange.request) == HEAD
    head = read_head(exchange.request)
    assert (head.key, head.client_id) == (3, "app")
    assert read_request(exchange.request, head) is None


def test_of_a_large_answer_the_head_and_the_size_are_kept() -> None:
    topics = [MetadataResponse.MetadataResponseTopic(name=f"topic-{number:04}") for number in range(1000)]
    answer = answer_of(MetadataResponse(topics=topics), 9)
    exchange = exchange_of(frame_of(MetadataRequest(), 9), answer)
    head, rest = exchange.answer
    assert isinstance(head, bytes)
    assert isinstance(rest, int)
    assert len(head) + rest == sum(map(len, answer))
    assert read_response(exchange.answer, read_head(exchange.request)) is None


class FileRange:
    """A range of a file, as the log gives it to a connection."""

    def __init__(self, path: Path, data: bytes) -> None:
        path.write_bytes(b"before" + data)
        self._file = path.open("rb")
        self.position, self.length = 6, len(data)

    def fileno(self) -> int:
        return self._file.fileno()

    def __len__(self) -> int:
        return self.length

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize(("allowed", "kept"), [(0, 0), (1 << 20, 1)])
def test_records_in_files_are_read_only_up_to_a_size(tmp_path: Path, allowed: int, kept: int) -> None:
    batch = bytes(build_batch([Record(0, 1000, None, b"v" * 30000)]))
    range_ = FileRange(tmp_path / "log", batch)
    row = FetchResponse.PartitionData(partition_index=3, high_watermark=7, records=range_)
    topic = FetchResponse.FetchableTopicResponse(topic="orders", partitions=[row])
    answer = answer_of(FetchResponse(responses=[topic]), 11)
    assert range_ in answer
    exchange = exchange_of(frame_of(FetchRequest(), 11), answer, Keeping(8192, allowed))
    range_.close()
    response = read_response(exchange.answer, read_head(exchange.request))
    assert isinstance(response, FetchResponse)
    row = response.responses[0].partitions[0]
    assert (row.partition_index, row.high_watermark) == (3, 7)
    records = memoryview(bytes(cast("bytes", row.records)))
    assert len(records) == len(batch)
    assert len(list(iter_headers(records))) == kept
