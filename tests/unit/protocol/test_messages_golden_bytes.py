"""Bytes written out by hand from Kafka's message formats, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kcompat.protocol.messages.control_records import (
    ControlRecordTypeSchema,
    EndTxnMarker,
    LeaderChangeMessage,
)
from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasResponse
from kcompat.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.group_records import GroupMetadataValue, OffsetCommitKey, OffsetCommitValue
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.messages.transaction_index import AbortedTxn
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

ID = bytes(range(16))
ID_HEX = "000102030405060708090a0b0c0d0e0f"

GOLDEN = [
    (ApiVersionsRequest(), 0, ""),
    (ApiVersionsRequest("kc", "1.2"), 3, "03 6b63  04 312e32  00"),
    (ApiVersionsRequest("kc", "1.2", "cl", 7), 5, "03 6b63  04 312e32  03 636c  00000007  00"),
    (
        ApiVersionsResponse(35, [ApiVersionsResponse.ApiVersion(18, 0, 4)]),
        0,
        "0023  00000001  0012 0000 0004",
    ),
    (
        # Four tags: features with names, the epoch, the finalized ones, and the migration flag.
        ApiVersionsResponse(
            0,
            [ApiVersionsResponse.ApiVersion(0, 3, 9)],
            10,
            [ApiVersionsResponse.SupportedFeatureKey("f", 1, 2)],
            5,
            [ApiVersionsResponse.FinalizedFeatureKey("f", 2, 1)],
            True,
        ),
        3,
        "0000  02 0000 0003 0009 00  0000000a  04"
        "00 08 02 02 66 0001 0002 00"
        "01 08 0000000000000005"
        "02 08 02 02 66 0002 0001 00"
        "03 01 01",
    ),
    (MetadataRequest([]), 0, "00000000"),
    (MetadataRequest(None), 1, "ffffffff"),
    (
        MetadataRequest([MetadataRequest.MetadataRequestTopic(name="ab")], allow_auto_topic_creation=True),
        4,
        "00000001 0002 6162  01",
    ),
    (
        MetadataRequest([MetadataRequest.MetadataRequestTopic(ID, None)], False, False, True),
        12,
        f"02 {ID_HEX} 00 00  00 01 00",
    ),
    (
        ProduceRequest(
            None,
            -1,
            30000,
            [
                ProduceRequest.TopicProduceData(
                    "t", partition_data=[ProduceRequest.PartitionProduceData(1, b"xyz")]
                )
            ],
        ),
        3,
        "ffff ffff 00007530  00000001 0001 74  00000001 00000001 00000003 78797a",
    ),
    (
        ProduceRequest(
            "tx",
            1,
            30000,
            [
                ProduceRequest.TopicProduceData(
                    "t", partition_data=[ProduceRequest.PartitionProduceData(1, b"z" * 130)]
                )
            ],
        ),
        9,
        "03 7478 0001 00007530  02 02 74  02 00000001 8301" + "7a" * 130 + "00 00 00",
    ),
    (
        ProduceResponse(
            [
                ProduceResponse.TopicProduceResponse(
                    topic_id=ID,
                    partition_responses=[
                        ProduceResponse.PartitionProduceResponse(
                            2, 6, -1, current_leader=ProduceResponse.LeaderIdAndEpoch(3, 8)
                        )
                    ],
                )
            ],
            node_endpoints=[ProduceResponse.NodeEndpoint(3, "h", 9092, None)],
        ),
        13,
        f"02 {ID_HEX} 02 00000002 0006 ffffffffffffffff ffffffffffffffff ffffffffffffffff 01 00"
        "01 00 09 00000003 00000008 00"
        "00 00000000 01 00 0d 02 00000003 02 68 00002384 00 00",
    ),
    (
        FetchRequest(
            replica_id=-1,
            max_wait_ms=500,
            min_bytes=1,
            topics=[
                FetchRequest.FetchTopic(
                    "t", partitions=[FetchRequest.FetchPartition(0, fetch_offset=9, partition_max_bytes=64)]
                )
            ],
        ),
        0,
        "ffffffff 000001f4 00000001  00000001 0001 74  00000001 00000000 0000000000000009 00000040",
    ),
    (
        # The replica moved into a tag in version 15.
        FetchRequest(max_wait_ms=1, cluster_id="c", replica_state=FetchRequest.ReplicaState(2, 4)),
        15,
        "00000001 00000000 7fffffff 00 00000000 ffffffff 01 01 01"
        "02 00 02 02 63 01 0d 00000002 0000000000000004 00",
    ),
    (
        FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    "t",
                    partitions=[
                        FetchResponse.PartitionData(
                            1,
                            0,
                            100,
                            100,
                            0,
                            FetchResponse.EpochEndOffset(2, 50),
                            aborted_transactions=[FetchResponse.AbortedTransaction(7, 8)],
                            records=b"",
                        )
                    ],
                )
            ]
        ),
        12,
        "00000000 0000 00000000 02 02 74 02 00000001 0000 0000000000000064 0000000000000064 0000000000000000"
        "02 0000000000000007 0000000000000008 00  ffffffff 01  01 00 0d 00000002 0000000000000032 00  00 00",
    ),
    (
        DescribeTopicPartitionsRequest([], 5, DescribeTopicPartitionsRequest.Cursor("t", 3)),
        0,
        "01 00000005 01 02 74 00000003 00 00",
    ),
    (DescribeTopicPartitionsRequest([], 5, None), 0, "01 00000005 ff 00"),
    (
        DescribeClientQuotasResponse(
            entries=[
                DescribeClientQuotasResponse.EntryData(
                    [DescribeClientQuotasResponse.EntityData("user", None)],
                    [DescribeClientQuotasResponse.ValueData("r", 1024.5)],
                )
            ]
        ),
        0,
        "00000000 0000 0000 00000001 00000001 0004 75736572 ffff 00000001 0001 72 4090020000000000",
    ),
    # The client id keeps its int16 length in the flexible header.
    (RequestHeader(18, 3, 1, "a"), 2, "0012 0003 00000001 0001 61 00"),
    (
        ConsumerProtocolSubscription(
            ["t"], None, [ConsumerProtocolSubscription.TopicPartition("t", [0, 1])], 4, "r"
        ),
        3,
        "00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000004 0001 72",
    ),
    (OffsetCommitKey("g", "t", 5), 0, "0001 67 0001 74 00000005"),
    (OffsetCommitValue(6, metadata="m", commit_timestamp=1), 0, "0000000000000006 0001 6d 0000000000000001"),
    (
        OffsetCommitValue(6, metadata="", commit_timestamp=1, expire_timestamp=2),
        1,
        "0000000000000006 0000 0000000000000001 0000000000000002",
    ),
    (OffsetCommitValue(6, 3, "", 1), 3, "0000000000000006 00000003 0000 0000000000000001"),
    (
        OffsetCommitValue(6, 3, "", 1, topic_id=ID),
        4,
        f"0000000000000006 00000003 01 0000000000000001 01 00 10 {ID_HEX}",
    ),
    (
        GroupMetadataValue(
            "consumer",
            2,
            "range",
            "m1",
            9,
            [GroupMetadataValue.MemberMetadata("m1", None, "c", "/h", 300, 200, b"\1", b"\2\3")],
        ),
        3,
        "0008 636f6e73756d6572 00000002 0005 72616e6765 0002 6d31 0000000000000009 00000001"
        "0002 6d31 ffff 0001 63 0002 2f68 0000012c 000000c8 00000001 01 00000002 0203",
    ),
    (GroupMetadataValue("", 0, None, None), 0, "0000 00000000 ffff ffff 00000000"),
    (TransactionLogKey("tx"), 0, "0002 7478"),
    (
        TransactionLogValue(
            1,
            producer_epoch=2,
            transaction_timeout_ms=3,
            transaction_status=4,
            transaction_partitions=[TransactionLogValue.PartitionsSchema("t", [5, 6])],
            transaction_last_update_timestamp_ms=7,
            transaction_start_timestamp_ms=8,
        ),
        0,
        "0000000000000001 0002 00000003 04 00000001 0001 74 00000002 00000005 00000006"
        "0000000000000007 0000000000000008",
    ),
    (
        # Tags go by number, wherever the field is declared.
        TransactionLogValue(1, 9, -1, 2, 4, 3, 4, None, 7, 8, 2),
        1,
        "0000000000000001 0002 00000003 04 00 0000000000000007 0000000000000008"
        "03 00 08 0000000000000009 02 02 0002 03 02 0004",
    ),
    (AbortedTxn(1, 2, 3, 4), 0, "0000000000000001 0000000000000002 0000000000000003 0000000000000004"),
    (ControlRecordTypeSchema(1), 0, "0001"),
    (EndTxnMarker(7), 0, "00000007"),
    (
        LeaderChangeMessage(0, 1, [LeaderChangeMessage.Voter(1)], []),
        0,
        "0000 00000001 02 00000001 00 01 00",
    ),
]


@pytest.mark.parametrize(
    ("message", "version", "wire"),
    GOLDEN,
    ids=[f"{type(message).__name__}-v{version}" for message, version, _ in GOLDEN],
)
def test_golden(message: Message, version: int, wire: str) -> None:
    expected = bytes.fromhex(wire)
    assert b"".join(message.encode(version)).hex() == expected.hex()
    assert type(message).decode(memoryview(expected), version) == message
