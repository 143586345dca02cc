"""Dumps of the records of internal topics."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.log_dumps import DEEP, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.protocol.message import Message


def joined(number: int, message: Message, version: int = 0) -> bytes:
    return struct.pack(">h", number) + b"".join(message.encode(version))


def decoded(directory: Path, key: bytes, value: bytes | None) -> tuple[Any, Any]:
    directory.mkdir()
    batch = build_batch([Record(0, 1, key, value)])
    (directory / "00000000000000000000.log").write_bytes(batch)
    fields = rows_of(directory, DEEP)[-1].fields
    return fields["key"], fields["value"]


def test_committed_offsets(tmp_path: Path) -> None:
    key = joined(1, OffsetCommitKey("g", "t", 3))
    value = joined(3, OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=5), 3)
    assert decoded(tmp_path / "__consumer_offsets-0", key, value) == (
        {"type": "OffsetCommit", "group": "g", "topic": "t", "partition": 3},
        {
            "version": 3,
            "offset": 42,
            "leaderEpoch": 7,
            "metadata": "m",
            "commitTimestamp": 5,
            "expireTimestamp": -1,
            "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
        },
    )
    assert decoded(tmp_path / "__consumer_offsets-1", key, None)[1] is None
    assert decoded(tmp_path / "__consumer_offsets-2", b"\0\x63x", b"?") == ("\0cx", "?")
    assert decoded(tmp_path / "__consumer_offsets-3", b"\0", b"\0") == ("\0", "\0")
    assert decoded(tmp_path / "t-0", key, None)[0] == key.decode()


def test_groups_with_what_their_members_say(tmp_path: Path) -> None:
    member = GroupMetadataValue.MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        rebalance_timeout=1,
        session_timeout=2,
        subscription=joined(1, ConsumerProtocolSubscription(topics=["t"]), 1),
        assignment=joined(
            0,
            ConsumerProtocolAssignment(
                assigned_partitions=[ConsumerProtocolAssignment.TopicPartition("t", [0, 1])]
            ),
        ),
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=4, protocol="range", leader="m", members=[member]
    )
    key, shown = decoded(
        tmp_path / "__consumer_offsets-0", joined(2, GroupMetadataKey("g")), joined(3, value, 3)
    )
    assert key == {"type": "GroupMetadata", "group": "g"}
    assert shown["generation"] == 4
    assert shown["members"][0]["subscription"]["topics"] == ["t"]
    assert shown["members"][0]["assignment"]["assignedPartitions"] == [{"topic": "t", "partitions": [0, 1]}]


def test_transactional_ids(tmp_path: Path) -> None:
    key, value = decoded(
        tmp_path / "__transaction_state-0",
        joined(0, TransactionLogKey("tx")),
        joined(0, TransactionLogValue(producer_id=5, producer_epoch=2, transaction_status=4)),
    )
    assert key == {"type": "TransactionLog", "transactionalId": "tx"}
    assert (value["producerId"], value["producerEpoch"], value["transactionStatus"]) == (5, 2, 4)
