"""Records that were produced and offsets that were read, by what requests and answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kcompat.protocol.uuids import uuid_from_text
from kcompat.testing.story.evidence import Evidence
from kcompat.testing.story.report import tell
from kcompat.testing.story.traffic import Read, Written, offsets_read, produced
from support.log_dumps import batch_at
from support.recorded_requests import recorded, topic

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.entry import RecordedRequest

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def produce(offset: int, *values: bytes, error: ErrorCode = ErrorCode.NONE) -> RecordedRequest:
    partition = ProduceRequest.PartitionProduceData(records=batch_at(0, *values))
    row = ProduceResponse.PartitionProduceResponse(base_offset=offset, error_code=error)
    return recorded(
        ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])]),
        ProduceResponse(
            responses=[ProduceResponse.TopicProduceResponse(name="t", partition_responses=[row])]
        ),
        version=3,
    )


def fetch(offset: int, records: bytes = b"", end: int = 0) -> RecordedRequest:
    partition = FetchRequest.FetchPartition(fetch_offset=offset)
    row = FetchResponse.PartitionData(high_watermark=end, records=records)
    return recorded(
        FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[partition])]),
        FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[row])]),
        version=4,
    )


def evidence(*requests: RecordedRequest, end: int = 0) -> Evidence:
    return Evidence("localhost:1", requests, topics={"t": topic("t", end)})


def unread(*requests: RecordedRequest, end: int) -> list[str]:
    lines = tell(evidence(*requests, end=end)).splitlines()
    return [line for line in lines if line.startswith("  t-0")]


def test_appended_records_are_counted_and_refused_ones_are_not() -> None:
    requests = [produce(5, b"a", b"b"), produce(7, b"c"), produce(-1, b"d", error=ErrorCode.CORRUPT_MESSAGE)]
    assert produced(evidence(*requests)) == {("t", 0): Written(5, 3)}


def test_reading_goes_from_the_lowest_fetch_to_the_end_of_the_last_records() -> None:
    assert offsets_read(evidence(fetch(2), fetch(4))) == {("t", 0): Read(2, 4)}
    assert offsets_read(evidence(fetch(2, batch_at(2, b"a"), end=3))) == {("t", 0): Read(2, 3)}


def test_records_that_a_share_group_acquired_are_read() -> None:
    acquired = [ShareFetchResponse.AcquiredRecords(first_offset=3, last_offset=4)]
    row = ShareFetchResponse.PartitionData(records=b"", acquired_records=acquired)
    response = ShareFetchResponse.ShareFetchableTopicResponse(
        topic_id=uuid_from_text(TOPIC_ID), partitions=[row]
    )
    asked = recorded(ShareFetchRequest(), ShareFetchResponse(responses=[response]), version=1)
    assert offsets_read(evidence(asked)) == {(TOPIC_ID, 0): Read(3, 5)}


def test_what_nobody_read_is_told() -> None:
    written = produce(0, b"a", b"b")
    assert unread(written, fetch(0, batch_at(0, b"a", b"b"), end=2), end=2) == []
    assert unread(written, end=2) == ["  t-0: 2 records from offset 0, no client read from it"]
    assert unread(written, fetch(2), end=2) == ["  t-0: 2 records from offset 0, clients wait at offset 2"]
    assert unread(written, fetch(0), fetch(1), end=2) == [
        "  t-0: 2 records from offset 0, clients read offsets 0 to 0"
    ]
