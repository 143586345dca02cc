"""Request and response headers, against bytes written out by hand."""

from __future__ import annotations

import pytest

from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.headers import (
    UnsupportedVersion,
    parse_request_header,
    request_header,
    response_header,
)
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.schema import ProtocolViolation


def view(text):
    return memoryview(bytes.fromhex(text))


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        # ControlledShutdown v0 has no client id; the broker id follows at once.
        ("0007 0000 00000005 00000001", (7, 0, 5, None, 8)),
        ("0000 0008 00000007 0003 616263 ff", (0, 8, 7, "abc", 13)),
        ("0000 0008 00000007 ffff", (0, 8, 7, None, 10)),
        ("0000 0008 00000007 0000", (0, 8, 7, "", 10)),
        # A flexible header keeps the int16 length of the client id and ends with tags.
        ("0000 0009 00000007 0003 616263 00 ff", (0, 9, 7, "abc", 14)),
        ("0000 0009 00000007 ffff 00", (0, 9, 7, None, 11)),
        ("0000 0009 00000007 0001 61 02 00 02 aabb 63 00 ff", (0, 9, 7, "a", 18)),
        # Invalid UTF-8 is replaced, not refused.
        ("0012 0000 ffffffff 0002 61ff", (18, 0, -1, "a\ufffd", 12)),
    ],
)
def test_request_header(wire, expected):
    assert parse_request_header(view(wire)) == expected


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
def test_damaged_request_header(wire):
    with pytest.raises(ProtocolViolation):
        parse_request_header(view(wire))


@pytest.mark.parametrize(
    ("key", "version"), [(18, 6), (18, 127), (0, 14), (95, 0), (-1, 0), (1000, 3), (0, -1)]
)
def test_unknown_version_is_told_from_damage(key, version):
    wire = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x2a"
    with pytest.raises(UnsupportedVersion) as caught:
        parse_request_header(memoryview(wire))
    fault = caught.value
    assert (fault.api_key, fault.api_version, fault.correlation_id) == (key, version, 42)


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        (ApiKey.PRODUCE, 8, "0000002a"),
        (ApiKey.PRODUCE, 9, "0000002a00"),
        (ApiKey.API_VERSIONS, 0, "0000002a"),
        (ApiKey.API_VERSIONS, 4, "0000002a"),
        (ApiKey.SASL_HANDSHAKE, 1, "0000002a"),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, "0000002a"),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, "0000002a00"),
    ],
)
def test_response_header(key, version, expected):
    assert response_header(key, version, 42).hex() == expected


@pytest.mark.parametrize(
    ("key", "version", "client_id"),
    [(7, 0, None), (7, 1, "b"), (7, 3, "b"), (0, 9, None), (3, 12, "client"), (18, 3, ""), (47, 0, "x")],
)
def test_written_request_header_is_read_back(key, version, client_id):
    wire = request_header(ApiKey(key), version, 9, client_id)
    assert parse_request_header(memoryview(wire)) == (key, version, 9, client_id, len(wire))


def test_hand_written_header_agrees_with_the_declaration():
    declared = RequestHeader(0, 9, 7, "abc").encode(2)
    assert declared == [request_header(ApiKey.PRODUCE, 9, 7, "abc")]
