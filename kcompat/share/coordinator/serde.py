"""The record formats of `__share_group_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.serde import RecordSerde
from kcompat.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)

if TYPE_CHECKING:
    from kcompat.protocol.message import Message


def _value_version(_value: Message) -> int:
    return 0


SHARE_STATE_SERDE: Final = RecordSerde(
    {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}, _value_version
)
