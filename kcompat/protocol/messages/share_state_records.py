"""Records of the share coordinator in `__share_group_state`."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int8, int16, int32, int64, string, struct, uuid


@message("0", record_type=0)
class ShareSnapshotKey(Message):
    """The key of the share snapshot record (record type 0)."""

    group_id: Annotated[str, string("0+")] = ""
    topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    partition: Annotated[int, int32("0+")] = 0


@message("0", record_type=1)
class ShareUpdateKey(Message):
    """The key of the share update record (record type 1)."""

    group_id: Annotated[str, string("0+")] = ""
    topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    partition: Annotated[int, int32("0+")] = 0


@message("0", flexible="0+", record_type=0)
class ShareSnapshotValue(Message):
    """The share snapshot record (record type 0, v0)."""

    class StateBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        delivery_state: Annotated[int, int8("0+")] = 0
        delivery_count: Annotated[int, int16("0+")] = 0

    snapshot_epoch: Annotated[int, int32("0+")] = 0
    state_epoch: Annotated[int, int32("0+")] = 0
    leader_epoch: Annotated[int, int32("0+")] = 0
    start_offset: Annotated[int, int64("0+")] = 0
    delivery_complete_count: Annotated[int, int32("0+", tag=0)] = -1
    create_timestamp: Annotated[int, int64("0+")] = 0
    write_timestamp: Annotated[int, int64("0+")] = 0
    state_batches: Annotated[list[ShareSnapshotValue.StateBatch], struct("0+")] = []


@message("0", flexible="0+", record_type=1)
class ShareUpdateValue(Message):
    """The share update record (record type 1, v0)."""

    class StateBatch(Part):
        first_offset: Annotated[int, int64("0+")] = 0
        last_offset: Annotated[int, int64("0+")] = 0
        delivery_state: Annotated[int, int8("0+")] = 0
        delivery_count: Annotated[int, int16("0+")] = 0

    snapshot_epoch: Annotated[int, int32("0+")] = 0
    leader_epoch: Annotated[int, int32("0+")] = 0
    start_offset: Annotated[int, int64("0+")] = 0
    delivery_complete_count: Annotated[int, int32("0+", tag=0)] = -1
    state_batches: Annotated[list[ShareUpdateValue.StateBatch], struct("0+")] = []
