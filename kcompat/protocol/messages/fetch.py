"""Fetch: request and response (API key 1)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import (
    ZERO_UUID,
    Part,
    Payload,
    int8,
    int16,
    int32,
    int64,
    record_bytes,
    string,
    struct,
    uuid,
)


@message("0-18", flexible="12+", api_key=1)
class FetchRequest(Message):
    """Request for records from given offsets on, which may wait for them (key 1, v0 to v18)."""

    class ReplicaState(Struct, frozen=True, gc=False):
        replica_id: Annotated[int, int32("15+")] = -1
        replica_epoch: Annotated[int, int64("15+")] = -1

    class FetchPartition(Part):
        partition: Annotated[int, int32("0+")] = 0
        current_leader_epoch: Annotated[int, int32("9+", ignorable=True)] = -1
        fetch_offset: Annotated[int, int64("0+")] = 0
        last_fetched_epoch: Annotated[int, int32("12+")] = -1
        log_start_offset: Annotated[int, int64("5+", ignorable=True)] = -1
        partition_max_bytes: Annotated[int, int32("0+")] = 0
        replica_directory_id: Annotated[bytes, uuid("17+", tag=0, ignorable=True)] = ZERO_UUID
        high_watermark: Annotated[int, int64("18+", tag=1, ignorable=True)] = 0x7FFFFFFFFFFFFFFF

    class FetchTopic(Part):
        topic: Annotated[str, string("0-12", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("13+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[FetchRequest.FetchPartition], struct("0+")] = []

    class ForgottenTopic(Part):
        topic: Annotated[str, string("7-12", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("13+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[int], int32("7+")] = []

    cluster_id: Annotated[str | None, string("12+", nullable="12+", tag=0, ignorable=True)] = None
    replica_id: Annotated[int, int32("0-14")] = -1
    replica_state: Annotated[ReplicaState, struct("15+", tag=1)] = ReplicaState()
    max_wait_ms: Annotated[int, int32("0+")] = 0
    min_bytes: Annotated[int, int32("0+")] = 0
    max_bytes: Annotated[int, int32("3+", ignorable=True)] = 0x7FFFFFFF
    isolation_level: Annotated[int, int8("4+", ignorable=True)] = 0
    session_id: Annotated[int, int32("7+", ignorable=True)] = 0
    session_epoch: Annotated[int, int32("7+", ignorable=True)] = -1
    topics: Annotated[list[FetchRequest.FetchTopic], struct("0+")] = []
    forgotten_topics_data: Annotated[list[FetchRequest.ForgottenTopic], struct("7+")] = []
    rack_id: Annotated[str, string("11+", ignorable=True)] = ""


@message("0-18", flexible="12+", api_key=1)
class FetchResponse(Message):
    """Response: records, high watermark and last stable offset of each partition (key 1, v0 to v18)."""

    class AbortedTransaction(Part):
        producer_id: Annotated[int, int64("4+")] = 0
        first_offset: Annotated[int, int64("4+")] = 0

    class PartitionData(Part):
        class EpochEndOffset(Struct, frozen=True, gc=False):
            epoch: Annotated[int, int32("12+")] = -1
            end_offset: Annotated[int, int64("12+")] = -1

        class LeaderIdAndEpoch(Struct, frozen=True, gc=False):
            leader_id: Annotated[int, int32("12+")] = -1
            leader_epoch: Annotated[int, int32("12+")] = -1

        class SnapshotId(Struct, frozen=True, gc=False):
            end_offset: Annotated[int, int64("12+")] = -1
            epoch: Annotated[int, int32("12+")] = -1

        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0
        high_watermark: Annotated[int, int64("0+")] = 0
        last_stable_offset: Annotated[int, int64("4+", ignorable=True)] = -1
        log_start_offset: Annotated[int, int64("5+", ignorable=True)] = -1
        diverging_epoch: Annotated[EpochEndOffset, struct("12+", tag=0)] = EpochEndOffset()
        current_leader: Annotated[LeaderIdAndEpoch, struct("12+", tag=1)] = LeaderIdAndEpoch()
        snapshot_id: Annotated[SnapshotId, struct("12+", tag=2)] = SnapshotId()
        aborted_transactions: Annotated[
            list[FetchResponse.AbortedTransaction] | None, struct("4+", nullable="4+", ignorable=True)
        ] = []
        preferred_read_replica: Annotated[int, int32("11+")] = -1
        records: Annotated[Payload | None, record_bytes("0+", nullable="0+")] = None

    EpochEndOffset = PartitionData.EpochEndOffset

    LeaderIdAndEpoch = PartitionData.LeaderIdAndEpoch

    SnapshotId = PartitionData.SnapshotId

    class FetchableTopicResponse(Part):
        topic: Annotated[str, string("0-12", ignorable=True)] = ""
        topic_id: Annotated[bytes, uuid("13+", ignorable=True)] = ZERO_UUID
        partitions: Annotated[list[FetchResponse.PartitionData], struct("0+")] = []

    class NodeEndpoint(Part):
        node_id: Annotated[int, int32("16+")] = 0
        host: Annotated[str, string("16+")] = ""
        port: Annotated[int, int32("16+")] = 0
        rack: Annotated[str | None, string("16+", nullable="16+")] = None

    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    error_code: Annotated[int, int16("7+", ignorable=True)] = 0
    session_id: Annotated[int, int32("7+")] = 0
    responses: Annotated[list[FetchResponse.FetchableTopicResponse], struct("0+")] = []
    node_endpoints: Annotated[list[FetchResponse.NodeEndpoint], struct("16+", tag=0)] = []
