"""Bytes that no honest peer sends: each ends in ProtocolViolation, and none takes memory it did not send."""

from __future__ import annotations

import tracemalloc

import pytest

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.stop_replica import StopReplicaRequest
from kcompat.protocol.schema import MAX_VALUES, ProtocolViolation

from .samples import message_classes, sample


def decode(cls, version, wire):
    return cls.decode(memoryview(bytes.fromhex(wire) if isinstance(wire, str) else wire), version)


@pytest.mark.parametrize("cls", list(message_classes()), ids=lambda cls: cls.__name__)
def test_truncation_at_every_byte(cls):
    for version in cls.versions:
        message = sample(cls, version)
        wire = b"".join(message.encode(version))
        assert cls.decode(memoryview(wire), version) == message
        for end in range(len(wire)):
            with pytest.raises(ProtocolViolation):
                cls.decode(memoryview(wire)[:end], version)


@pytest.mark.parametrize(
    ("cls", "version", "wire"),
    [
        # Array counts far beyond the bytes that follow.
        (MetadataRequest, 0, "7fffffff 0000"),
        (MetadataRequest, 9, "ffffffff0f 00"),
        (ProduceRequest, 3, "ffff 0000 00000000 7fffffff 0000 00000000"),
        (FetchRequest, 0, "ffffffff 00000000 00000000 00000001 0001 74 40000000"),
        (StopReplicaRequest, 2, "00000000 00000000 0000000000000000 00 ffffffff07 00"),
        # Ten elements of 16 bytes cannot be in 100 bytes.
        (FetchRequest, 0, "ffffffff 00000000 00000000 00000001 0001 74 0000000a" + "00" * 100),
        # Lengths beyond the end, below null, or null where there is no null.
        (HeartbeatRequest, 0, "7fff 61"),
        (HeartbeatRequest, 0, "ffff 00000000 0000"),
        (HeartbeatRequest, 0, "8000 00000000 0000"),
        (HeartbeatRequest, 4, "00 00000000 01 00 00"),
        (HeartbeatRequest, 4, "ffffffff0f 00000000"),
        (SaslAuthenticateRequest, 0, "7fffffff 00"),
        (SaslAuthenticateRequest, 0, "ffffffff"),
        (SaslAuthenticateRequest, 0, "80000000 00"),
        (SaslAuthenticateRequest, 2, "00 00"),
        (MetadataRequest, 0, "ffffffff"),
        (MetadataRequest, 0, "fffffffe"),
        (MetadataRequest, 9, "01 00 00"),
        # Varints of more than five bytes, or of more than 32 bits.
        (MetadataRequest, 9, "8080808080 01 00"),
        (MetadataRequest, 9, "ffffffff7f"),
        (HeartbeatRequest, 4, "808080808001 61"),
        # Tags: more than fit, a size past the end, a known one of another size.
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 7f"),
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 ffffffff0f 00 00"),
        (HeartbeatRequest, 4, "02 67 00000000 02 6d 00 01 00 05 00"),
        (FetchRequest, 12, "ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01 01 00 03 02 63"),
        (FetchRequest, 12, "ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01 01 00 01 02 63"),
        (FetchRequest, 12, "ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01 ffffffff0f 00 00"),
    ],
)
def test_damage_is_a_violation_and_costs_nothing(cls, version, wire):
    with pytest.raises(ProtocolViolation):
        decode(cls, version, wire)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolViolation, match=cls.__name__):
            decode(cls, version, wire)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_negative_count_is_null_where_null_is_allowed():
    for count in ("ffffffff", "fffffffe", "80000000"):
        assert decode(MetadataRequest, 1, count).topics is None
    partition = "00000000 0000 0000000000000000 0000000000000000"
    wire = f"00000000 00000001 0001 74 00000001 {partition} fffffffe 00000000"
    assert decode(FetchResponse, 4, wire).responses[0].partitions[0].aborted_transactions is None


def stop_replicas(count):
    """A request with `count` partition numbers, after which it is at its end."""
    return b"\0" * 17 + b"\0\0\0\1" + b"\0\1t" + count.to_bytes(4, "big") + bytes(4 * count)


def test_values_are_counted():
    # The topic struct with its two fields takes two of the values.
    most = MAX_VALUES - 2
    message = StopReplicaRequest.decode(memoryview(stop_replicas(most)), 1)
    assert len(message.topics[0].partition_indexes) == most
    with pytest.raises(ProtocolViolation, match="too many values"):
        StopReplicaRequest.decode(memoryview(stop_replicas(most + 1)), 1)


def test_the_limit_of_values_is_the_callers():
    StopReplicaRequest.decode(memoryview(stop_replicas(8)), 1, 0, 10)
    with pytest.raises(ProtocolViolation, match="too many values"):
        StopReplicaRequest.decode(memoryview(stop_replicas(9)), 1, 0, 10)


def unknown_tags(count):
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
            bytes.fromhex("ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01"),
        ),
    ],
)
def test_unknown_tags_are_skipped_up_to_a_limit(cls, version, body):
    without = cls.decode(memoryview(body + b"\0"), version)
    assert cls.decode(memoryview(body + unknown_tags(64)), version) == without
    with pytest.raises(ProtocolViolation, match="65 tagged fields"):
        cls.decode(memoryview(body + unknown_tags(65)), version)


def test_known_tags_among_unknown_ones():
    body = bytes.fromhex("ffffffff" + "00" * 8 + "7fffffff 00 00000000 ffffffff 01 01 01")
    tags = bytes.fromhex("03 00 02 02 63 05 00 8101 01 ff")
    assert FetchRequest.decode(memoryview(body + tags), 12).cluster_id == "c"
