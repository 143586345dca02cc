"""OffsetFetch: request and response (API key 9)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int16, int32, int64, string, struct, uuid


@message("0-10", flexible="6+", api_key=9)
class OffsetFetchRequest(Message):
    """Request for the committed offsets of groups (key 9, v0 to v10)."""

    class OffsetFetchRequestTopic(Part):
        name: Annotated[str, string("0-7")] = ""
        partition_indexes: Annotated[list[int], int32("0-7")] = []

    class OffsetFetchRequestTopics(Part):
        name: Annotated[str, string("8-9", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        partition_indexes: Annotated[list[int], int32("8+")] = []

    class OffsetFetchRequestGroup(Part):
        group_id: Annotated[str, string("8+")] = ""
        member_id: Annotated[str | None, string("9+", nullable="9+", ignorable=True)] = None
        member_epoch: Annotated[int, int32("9+", ignorable=True)] = -1
        topics: Annotated[
            list[OffsetFetchRequest.OffsetFetchRequestTopics] | None, struct("8+", nullable="8+")
        ] = []

    group_id: Annotated[str, string("0-7")] = ""
    topics: Annotated[
        list[OffsetFetchRequest.OffsetFetchRequestTopic] | None, struct("0-7", nullable="2-7")
    ] = []
    groups: Annotated[list[OffsetFetchRequest.OffsetFetchRequestGroup], struct("8+")] = []
    require_stable: Annotated[bool, boolean("7+")] = False


@message("0-10", flexible="6+", api_key=9)
class OffsetFetchResponse(Message):
    """Response: committed offset of each partition (key 9, v0 to v10)."""

    class OffsetFetchResponsePartition(Part):
        partition_index: Annotated[int, int32("0-7")] = 0
        committed_offset: Annotated[int, int64("0-7")] = 0
        committed_leader_epoch: Annotated[int, int32("5-7", ignorable=True)] = -1
        metadata: Annotated[str | None, string("0-7", nullable="0-7")] = ""
        error_code: Annotated[int, int16("0-7")] = 0

    class OffsetFetchResponseTopic(Part):
        name: Annotated[str, string("0-7")] = ""
        partitions: Annotated[list[OffsetFetchResponse.OffsetFetchResponsePartition], struct("0-7")] = []

    class OffsetFetchResponsePartitions(Part):
        partition_index: Annotated[int, int32("8+")] = 0
        committed_offset: Annotated[int, int64("8+")] = 0
        committed_leader_epoch: Annotated[int, int32("8+", ignorable=True)] = -1
        metadata: Annotated[str | None, string("8+", nullable="8+")] = ""
        error_code: Annotated[int, int16("8+")] = 0

    class OffsetFetchResponseTopics(Part):
        name: Annotated[str, string("8-9", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[OffsetFetchResponse.OffsetFetchResponsePartitions], struct("8+")] = []

    class OffsetFetchResponseGroup(Part):
        group_id: Annotated[str, string("8+")] = ""
        topics: Annotated[list[OffsetFetchResponse.OffsetFetchResponseTopics], struct("8+")] = []
        error_code: Annotated[int, int16("8+")] = 0

    throttle_time_ms: Annotated[int, int32("3+", ignorable=True)] = 0
    topics: Annotated[list[OffsetFetchResponse.OffsetFetchResponseTopic], struct("0-7")] = []
    error_code: Annotated[int, int16("2-7", ignorable=True)] = 0
    groups: Annotated[list[OffsetFetchResponse.OffsetFetchResponseGroup], struct("8+")] = []
