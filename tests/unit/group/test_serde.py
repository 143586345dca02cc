"""The bytes in `__consumer_offsets`."""

from __future__ import annotations

import pytest

from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.group.serde import GROUP_SERDE
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcompat.protocol.schema import ProtocolViolation

OFFSET_KEY = OffsetCommitKey(group="g", topic="t", partition=3)
GROUP_KEY = GroupMetadataKey(group="g")


def test_an_offset_as_kafka_3_9_writes_it() -> None:
    value = OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=1)
    assert GROUP_SERDE.serialize(CoordinatorRecord(OFFSET_KEY, value)) == (
        bytes.fromhex("0001 0001 67 0001 74 00000003"),
        bytes.fromhex("0003 0000000000000005 00000002 0001 6d 0000000000000001"),
    )


def test_an_offset_with_a_retention_of_its_own_is_written_in_the_old_form() -> None:
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=1, expire_timestamp=9)
    assert GROUP_SERDE.serialize(CoordinatorRecord(OFFSET_KEY, value))[1] == bytes.fromhex(
        "0001 0000000000000005 0000 0000000000000001 0000000000000009"
    )


def test_a_group_as_kafka_3_9_writes_it() -> None:
    member = GroupMetadataValue.MemberMetadata("m", None, "c", "/h", 300, 100, b"s", b"a")
    value = GroupMetadataValue("consumer", 4, "range", "m", 1, [member])
    assert GROUP_SERDE.serialize(CoordinatorRecord(GROUP_KEY, value)) == (
        bytes.fromhex("0002 0001 67"),
        bytes.fromhex(
            "0003 0008 636f6e73756d6572 00000004 0005 72616e6765 0001 6d 0000000000000001 00000001"
            "0001 6d ffff 0001 63 0002 2f68 0000012c 00000064 00000001 73 00000001 61"
        ),
    )


@pytest.mark.parametrize(
    "record",
    [
        CoordinatorRecord(OFFSET_KEY, None),
        CoordinatorRecord(GROUP_KEY, None),
        CoordinatorRecord(OFFSET_KEY, OffsetCommitValue(offset=5, leader_epoch=2, metadata="m")),
        CoordinatorRecord(GROUP_KEY, GroupMetadataValue("", 3, None, None, 7, [])),
    ],
)
def test_what_is_written_is_read(record: CoordinatorRecord) -> None:
    assert GROUP_SERDE.deserialize(*GROUP_SERDE.serialize(record)) == record


def test_old_versions_are_read() -> None:
    key = bytes.fromhex("0000 0001 67 0001 74 00000003")
    value = bytes.fromhex("0000 0000000000000005 0001 6d 0000000000000001")
    assert GROUP_SERDE.deserialize(key, value) == CoordinatorRecord(
        OFFSET_KEY, OffsetCommitValue(offset=5, metadata="m", commit_timestamp=1)
    )


def test_other_keys_are_left_alone() -> None:
    assert GROUP_SERDE.deserialize(bytes.fromhex("7f03 0001 67"), b"\0\0\0\0\0\1") is None
    assert GROUP_SERDE.deserialize(bytes.fromhex("7fff"), None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (bytes.fromhex("0002"), None),
        (bytes.fromhex("0002 0001 67"), b""),
        (bytes.fromhex("0002 0001 67"), bytes.fromhex("0063")),
        (bytes.fromhex("0002 0001 67"), bytes.fromhex("0003 0008 63")),
    ],
)
def test_damage_is_told(key: bytes, value: bytes | None) -> None:
    with pytest.raises(ProtocolViolation):
        GROUP_SERDE.deserialize(key, value)
