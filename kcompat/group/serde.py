"""The record formats of `__consumer_offsets`.

Values are written in the formats of Kafka 3.9: offsets at version 3 (1 if the client requested a retention),
classic groups at version 3. Records of consumer, share and streams groups have the formats of Kafka 4.3;
Kafka 3.9 ignores the records and fields of these that it does not know. Every version is read. Offset keys of
type 0, which old brokers wrote, are read like those of type 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.serde import RecordSerde
from kcompat.group.kinds.table import MODERN_KINDS
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_WITH_EXPIRY_VERSION = 1
GROUP_VALUE_VERSION = 3
NEWER_VALUE_VERSION = 0
"""Value version of all kinds of records that are newer than those of classic groups; these records grow by
tagged fields.
"""


def _value_version(value: Message) -> int:
    if isinstance(value, OffsetCommitValue):
        return OFFSET_VALUE_VERSION if value.expire_timestamp == -1 else OFFSET_VALUE_WITH_EXPIRY_VERSION
    if isinstance(value, GroupMetadataValue):
        return GROUP_VALUE_VERSION
    return NEWER_VALUE_VERSION


GROUP_SERDE: Final = RecordSerde(
    {
        0: (OffsetCommitKey, OffsetCommitValue),
        1: (OffsetCommitKey, OffsetCommitValue),
        2: (GroupMetadataKey, GroupMetadataValue),
        **{key.record_type: (key, value) for kind in MODERN_KINDS for key, value in kind.records.classes},
    },
    _value_version,
)
