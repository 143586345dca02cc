"""Request headers, against bytes written out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kcompat.protocol.messages.fetch import FetchResponse
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.schema import ProtocolViolation
from support.raw_client import request_frame

if TYPE_CHECKING:
    from kcompat.protocol.message import Message
    from support.codecs import MessageCodec


def view(text: str) -> memoryview:
    return memoryview(bytes.fromhex(text))


@pytest.mark.parametrize(
    ("wire", "version", "expected"),
    [
        # ControlledShutdown v0 has no client id; the broker id follows at once.
        ("0007 0000 00000005 00000001", 0, (5, None, 8)),
        ("0000 0008 00000007 0003 616263 ff", 1, (7, "abc", 13)),
        ("0000 0008 00000007 ffff", 1, (7, None, 10)),
        ("0000 0008 00000007 0000", 1, (7, "", 10)),
        # A flexible header keeps the int16 length of the client id and ends with tags.
        ("0000 0009 00000007 0003 616263 00 ff", 2, (7, "abc", 14)),
        ("0000 0009 00000007 ffff 00", 2, (7, None, 11)),
        ("0000 0009 00000007 0001 61 02 00 02 aabb 63 00 ff", 2, (7, "a", 18)),
        # Invalid UTF-8 is replaced, not refused.
        ("0012 0000 ffffffff 0002 61ff", 1, (-1, "a\ufffd", 12)),
    ],
)
def test_request_header(
    codec: MessageCodec, wire: str, version: int, expected: tuple[int, str | None, int]
) -> None:
    assert codec.read_request_header(view(wire), version) == expected


@pytest.mark.parametrize(
    "wire",
    [
        "",
        "00",
        "0000 0009 000000",
        "0000 0009 00000007",
        "0000 0009 00000007 00",
        "0000 0009 00000007 0003 6162",
        "0000 0009 00000007 0003 616263",
        "0000 0009 00000007 ffff 80",
        "0000 0009 00000007 ffff 01",
        "0000 0009 00000007 ffff 01 00 05 aa",
        "0000 0009 00000007 ffff ffffffff7f",
    ],
)
def test_damaged_request_header(codec: MessageCodec, wire: str) -> None:
    with pytest.raises(ProtocolViolation):
        codec.read_request_header(view(wire), 2)


@pytest.mark.parametrize(
    ("version", "client_id"), [(0, None), (1, None), (1, ""), (1, "b"), (2, None), (2, ""), (2, "client")]
)
def test_a_written_header_is_read_back(codec: MessageCodec, version: int, client_id: str | None) -> None:
    (wire,) = RequestHeader(3, 12, 9, client_id).encode(version)
    assert codec.read_request_header(memoryview(wire), version) == (9, client_id, len(wire))


@pytest.mark.parametrize(
    ("request_", "version", "header"),
    [
        (ControlledShutdownRequest(), 0, "0007 0000 00000009"),
        (HeartbeatRequest(), 3, "000c 0003 00000009 0001 62"),
        (HeartbeatRequest(), 4, "000c 0004 00000009 0001 62 00"),
        (ApiVersionsRequest(), 3, "0012 0003 00000009 0001 62 00"),
    ],
)
def test_a_frame_has_the_header_that_its_version_demands(
    request_: Message, version: int, header: str
) -> None:
    frame = request_frame(request_, version, 9, "b")
    body = b"".join(request_.encode(version))
    assert frame == len(frame[4:]).to_bytes(4, "big") + bytes.fromhex(header) + body


@pytest.mark.parametrize(
    ("version", "header_version", "expected"),
    [
        (0, 0, "00000006 00000102 001b"),
        (1, 0, "0000000a 00000102 00000007 001b"),
        (4, 1, "0000000c 00000102 00 00000007 001b 00"),
    ],
)
def test_a_response_as_it_goes_over_the_wire(
    codec: MessageCodec, version: int, header_version: int, expected: str
) -> None:
    frame = codec.compile_framer(HeartbeatResponse, version)
    response = HeartbeatResponse(throttle_time_ms=7 if version else 0, error_code=27)
    assert frame(response, 0x102, header_version) == [bytes.fromhex(expected)]


def test_the_length_of_a_response_counts_the_records_in_it(codec: MessageCodec) -> None:
    records = memoryview(b"some records")
    partition = FetchResponse.PartitionData(records=records)
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=[partition])])
    head, *rest = codec.compile_framer(FetchResponse, 4)(response, -1, 0)
    assert int.from_bytes(head[:4], "big") == len(head) - 4 + len(records)
    assert head[4:8] == b"\xff" * 4
    assert rest == [records]
