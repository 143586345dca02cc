"""Bytes that no honest peer sends: each ends in ProtocolViolation, and none takes memory it did not send."""

from __future__ import annotations

import tracemalloc
from typing import TypeVar

import pytest

from kcompat.protocol.encoding import uvarint
from kcompat.protocol.message import Message
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.stop_replica import StopReplicaRequest
from kcompat.protocol.reading import read_uvarint
from kcompat.protocol.schema import MAX_VALUES, ProtocolViolation
from support.messages import message_classes, sample

M = TypeVar("M", bound=Message)


def decode(cls: type[M], version: int, wire: str) -> M:
    return cls.decode(memoryview(bytes.fromhex(wire)), version)


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: cls.__name__)
def test_truncation_at_every_byte(cls: type[Message]) -> None:
    for version in cls.versions:
        message = sample(cls, version)
        wire = b"".join(message.encode(version))
        assert cls.decode(memoryview(wire), version) == message
        for end in range(len(wire)):
            with pytest.raises(ProtocolViolation):
                cls.decode(memoryview(wire)[:end], version)


FETCH_V12 = "ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01"
"""A fetch request that wants nothing, up to its tags."""


@pytest.mark.parametrize(
    ("cls", "version", "wire", "fault"),
    [
        # Array counts far beyond the bytes that follow.
        (MetadataRequest, 0, "7fffffff 0000", "array of 2147483647"),
        (MetadataRequest, 9, "ffffffff0f 00", "array of 4294967294"),
        (ProduceRequest, 3, "ffff 0000 00000000 7fffffff 0000 00000000", "array of 2147483647"),
        (FetchRequest, 0, "ffffffff 00000000 00000000 00000001 0001 74 40000000", "array of 1073741824"),
        (StopReplicaRequest, 2, "00000000 00000000 0000000000000000 00 ffffffff07 00", "array of 2147483646"),
        # Ten elements of 16 bytes cannot be in 100 bytes.
        (
            FetchRequest,
            0,
            "ffffffff 00000000 00000000 00000001 0001 74 0000000a" + "00" * 100,
            "array of 10 ",
        ),
        # Lengths beyond the end, below null, or null where there is no null.
        (HeartbeatRequest, 0, "7fff 61", "length 32767"),
        (HeartbeatRequest, 0, "0005 61", "(cut short|length 5)"),
        (HeartbeatRequest, 0, "ffff 00000000 0000", "length -1"),
        (HeartbeatRequest, 0, "8000 00000000 0000", "length -32768"),
        (HeartbeatRequest, 4, "00 00000000 01 00 00", "length -1"),
        (HeartbeatRequest, 4, "ffffffff0f 00000000", "length 4294967294"),
        (SaslAuthenticateRequest, 0, "7fffffff 00", "length 2147483647"),
        (SaslAuthenticateRequest, 0, "ffffffff", "length -1"),
        (SaslAuthenticateRequest, 0, "80000000 00", "length -2147483648"),
        (SaslAuthenticateRequest, 2, "00 00", "length (0|-1) is null"),
        (MetadataRequest, 0, "ffffffff", "array of -1"),
        (MetadataRequest, 0, "fffffffe", "array of -2"),
        (FetchRequest, 12, "ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 00", "array of -1"),
        # Varints of more than five bytes, or of more than 32 bits.
        (MetadataRequest, 9, "8080808080 01 00", "varint"),
        (MetadataRequest, 9, "ffffffff7f", "varint"),
        (HeartbeatRequest, 4, "808080808001 61", "varint"),
        # Tags: more than fit, a size past the end, a known one of another size.
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 7f", "127 tagged fields"),
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 02 0a 00 0a", "2 tagged fields"),
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 ffffffff0f 00 00", "4294967295 tagged fields"),
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 01 00 05 00", "length 5"),
        (FetchRequest, 12, FETCH_V12 + "01 00 03 02 63", "length 3"),
        (FetchRequest, 12, FETCH_V12 + "01 00 03 02 63 00 00", "tagged field 0"),
        (FetchRequest, 12, FETCH_V12 + "01 00 01 02 63", "tagged field 0"),
        (FetchRequest, 12, FETCH_V12 + "02 00 02 00", "2 tagged fields"),
        (FetchRequest, 12, FETCH_V12 + "ffffffff0f 00 00", "4294967295 tagged fields"),
    ],
)
def test_damage_is_a_violation_and_costs_nothing(
    cls: type[Message], version: int, wire: str, fault: str
) -> None:
    with pytest.raises(ProtocolViolation, match=f"^{cls.__name__} v{version}.*{fault}"):
        decode(cls, version, wire)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolViolation):
            decode(cls, version, wire)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("ff7f", 16383),
        ("808001", 16384),
        ("ffff7f", 2097151),
        ("80808001", 2097152),
        ("ffffffff0f", 0xFFFFFFFF),
        ("8000", 0),
    ],
)
def test_varint(wire: str, value: int) -> None:
    assert read_uvarint(memoryview(bytes.fromhex(wire + "ff")), 0) == (value, len(wire) // 2)
    if wire != "8000":
        assert uvarint(value).hex() == wire


@pytest.mark.parametrize("wire", ["ffffffff10", "ffffffff7f", "ffffffffff01", "8080808080"])
def test_varint_beyond_32_bits(wire: str) -> None:
    with pytest.raises(ProtocolViolation, match="varint"):
        read_uvarint(memoryview(bytes.fromhex(wire)), 0)


def test_a_negative_count_is_null_where_null_is_allowed() -> None:
    for count in ("ffffffff", "fffffffe", "80000000"):
        assert decode(MetadataRequest, 1, count).topics is None
    partition = "00000000 0000 0000000000000000 0000000000000000"
    wire = f"00000000 00000001 0001 74 00000001 {partition} fffffffe 00000000"
    assert decode(FetchResponse, 4, wire).responses[0].partitions[0].aborted_transactions is None


def test_a_zero_of_two_bytes_is_null_too() -> None:
    assert decode(HeartbeatRequest, 4, "02 67 00000000 02 6d 8000 00").group_instance_id is None
    assert decode(MetadataRequest, 9, "8000 00 00 00 00").topics is None
    with pytest.raises(ProtocolViolation, match="length -1"):
        decode(HeartbeatRequest, 4, "8000 00000000 02 6d 00 00")


def stop_replicas(count: int) -> bytes:
    """A request with `count` partition numbers, after which it is at its end."""
    return b"\0" * 17 + b"\0\0\0\1" + b"\0\1t" + count.to_bytes(4, "big") + bytes(4 * count)


def test_values_are_counted() -> None:
    # The topic struct with its two fields takes two of the values.
    most = MAX_VALUES - 2
    message = StopReplicaRequest.decode(memoryview(stop_replicas(most)), 1)
    assert len(message.topics[0].partition_indexes) == most
    with pytest.raises(ProtocolViolation, match="too many values"):
        StopReplicaRequest.decode(memoryview(stop_replicas(most + 1)), 1)


def test_the_limit_of_values_is_the_callers() -> None:
    StopReplicaRequest.decode(memoryview(stop_replicas(8)), 1, 0, 10)
    with pytest.raises(ProtocolViolation, match="too many values"):
        StopReplicaRequest.decode(memoryview(stop_replicas(9)), 1, 0, 10)


def unknown_tags(count: int) -> bytes:
    fields = b"".join(bytes([tag, 1, 0xAA]) for tag in range(10, 10 + count))
    return bytes([count]) + fields


@pytest.mark.parametrize(
    ("cls", "version", "body"),
    [
        (HeartbeatRequest, 4, bytes.fromhex("02 67 00000003 02 6d 00")),
        (ApiVersionsRequest, 3, bytes.fromhex("02 61 02 62")),
        (
            FetchRequest,
            12,
            bytes.fromhex(FETCH_V12),
        ),
    ],
)
def test_unknown_tags_are_skipped_up_to_a_limit(cls: type[Message], version: int, body: bytes) -> None:
    without = cls.decode(memoryview(body + b"\0"), version)
    assert cls.decode(memoryview(body + unknown_tags(64)), version) == without
    with pytest.raises(ProtocolViolation, match="65 tagged fields"):
        cls.decode(memoryview(body + unknown_tags(65)), version)


def test_known_tags_among_unknown_ones() -> None:
    body = bytes.fromhex(FETCH_V12)
    tags = bytes.fromhex("03 00 02 02 63 05 00 8101 01 ff")
    assert FetchRequest.decode(memoryview(body + tags), 12).cluster_id == "c"
