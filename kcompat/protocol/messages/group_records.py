"""Records of classic groups and committed offsets in `__consumer_offsets`."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, binary, int32, int64, string, struct, uuid


@message("0", record_type=0)
class LegacyOffsetCommitKey(Message):
    """The oldest key of a committed offset (record type 0, v0)."""

    group: Annotated[str, string("0+")] = ""
    topic: Annotated[str, string("0+")] = ""
    partition: Annotated[int, int32("0+")] = 0


@message("0", record_type=1)
class OffsetCommitKey(Message):
    """The key of a committed offset (record type 1, v0)."""

    group: Annotated[str, string("0+")] = ""
    topic: Annotated[str, string("0+")] = ""
    partition: Annotated[int, int32("0+")] = 0


@message("0", record_type=2)
class GroupMetadataKey(Message):
    """The key of a classic group (record type 2, v0)."""

    group: Annotated[str, string("0+")] = ""


@message("0", record_type=0)
class LegacyOffsetCommitValue(Message):
    """The oldest form of a committed offset (record type 0, v0)."""

    offset: Annotated[int, int64("0+")] = 0
    metadata: Annotated[str, string("0+")] = ""
    commit_timestamp: Annotated[int, int64("0+")] = 0


@message("0-4", flexible="4+", record_type=1)
class OffsetCommitValue(Message):
    """A committed offset (record type 1, v0 to v4)."""

    offset: Annotated[int, int64("0+")] = 0
    leader_epoch: Annotated[int, int32("3+", ignorable=True)] = -1
    metadata: Annotated[str, string("0+")] = ""
    commit_timestamp: Annotated[int, int64("0+")] = 0
    expire_timestamp: Annotated[int, int64("1", ignorable=True)] = -1
    topic_id: Annotated[bytes, uuid("4+", tag=0, ignorable=True)] = ZERO_UUID


@message("0-4", flexible="4+", record_type=2)
class GroupMetadataValue(Message):
    """A classic group with its members (record type 2, v0 to v4)."""

    class MemberMetadata(Part):
        member_id: Annotated[str, string("0+")] = ""
        group_instance_id: Annotated[str | None, string("3+", nullable="3+", ignorable=True)] = None
        client_id: Annotated[str, string("0+")] = ""
        client_host: Annotated[str, string("0+")] = ""
        rebalance_timeout: Annotated[int, int32("1+", ignorable=True)] = -1
        session_timeout: Annotated[int, int32("0+")] = 0
        subscription: Annotated[bytes, binary("0+")] = b""
        assignment: Annotated[bytes, binary("0+")] = b""

    protocol_type: Annotated[str, string("0+")] = ""
    generation: Annotated[int, int32("0+")] = 0
    protocol: Annotated[str | None, string("0+", nullable="0+")] = ""
    leader: Annotated[str | None, string("0+", nullable="0+")] = ""
    current_state_timestamp: Annotated[int, int64("2+", ignorable=True)] = -1
    members: Annotated[list[GroupMetadataValue.MemberMetadata], struct("0+")] = []
