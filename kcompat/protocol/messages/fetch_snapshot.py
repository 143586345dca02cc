"""FetchSnapshot: request and response (API key 59)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import (
    ZERO_UUID,
    Part,
    Payload,
    int16,
    int32,
    int64,
    record_bytes,
    string,
    struct,
    uint16,
    uuid,
)


@message("0-1", flexible="0+", api_key=59)
class FetchSnapshotRequest(Message):
    """Request for a part of a KRaft snapshot (key 59, v0 to v1)."""

    class SnapshotId(Part):
        end_offset: Annotated[int, int64("0+")] = 0
        epoch: Annotated[int, int32("0+")] = 0

    class PartitionSnapshot(Part):
        partition: Annotated[int, int32("0+")] = 0
        current_leader_epoch: Annotated[int, int32("0+")] = 0
        snapshot_id: Annotated[FetchSnapshotRequest.SnapshotId, struct("0+")] = field(
            default_factory=lambda: FetchSnapshotRequest.SnapshotId()
        )
        position: Annotated[int, int64("0+")] = 0
        replica_directory_id: Annotated[bytes, uuid("1+", tag=0, ignorable=True)] = ZERO_UUID

    class TopicSnapshot(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[FetchSnapshotRequest.PartitionSnapshot], struct("0+")] = []

    cluster_id: Annotated[str | None, string("0+", nullable="0+", tag=0)] = None
    replica_id: Annotated[int, int32("0+")] = -1
    max_bytes: Annotated[int, int32("0+")] = 0x7FFFFFFF
    topics: Annotated[list[FetchSnapshotRequest.TopicSnapshot], struct("0+")] = []


@message("0-1", flexible="0+", api_key=59)
class FetchSnapshotResponse(Message):
    """Response: the part of the snapshot (key 59, v0 to v1)."""

    class SnapshotId(Part):
        end_offset: Annotated[int, int64("0+")] = 0
        epoch: Annotated[int, int32("0+")] = 0

    class PartitionSnapshot(Part):
        class LeaderIdAndEpoch(Struct, frozen=True, gc=False):
            leader_id: Annotated[int, int32("0+")] = 0
            leader_epoch: Annotated[int, int32("0+")] = 0

        index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        snapshot_id: Annotated[FetchSnapshotResponse.SnapshotId, struct("0+")] = field(
            default_factory=lambda: FetchSnapshotResponse.SnapshotId()
        )
        current_leader: Annotated[LeaderIdAndEpoch, struct("0+", tag=0)] = LeaderIdAndEpoch()
        size: Annotated[int, int64("0+")] = 0
        position: Annotated[int, int64("0+")] = 0
        unaligned_records: Annotated[Payload, record_bytes("0+")] = b""

    LeaderIdAndEpoch = PartitionSnapshot.LeaderIdAndEpoch

    class TopicSnapshot(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[FetchSnapshotResponse.PartitionSnapshot], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("1+")] = 0
        host: Annotated[str, string("1+")] = ""
        port: Annotated[int, uint16("1+")] = 0

    throttle_time_ms: Annotated[int, int32("0+", ignorable=True)] = 0
    error_code: Annotated[int, int16("0+")] = 0
    topics: Annotated[list[FetchSnapshotResponse.TopicSnapshot], struct("0+")] = []
    node_endpoints: Annotated[list[FetchSnapshotResponse.NodeEndpoint], struct("1+", tag=0)] = []
