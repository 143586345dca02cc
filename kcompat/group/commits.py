"""OffsetCommit, OffsetFetch and OffsetDelete for the offsets of any group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.requests import FetchAnswer, FetchedOffset
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.group.base import Group, GroupTransition, ShardGroups
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.requests import CommitRequest, FetchingMember, OffsetToCommit
    from kcompat.topics import TopicPartition

MAX_TIMESTAMP = 2**63 - 1
Errors = dict["TopicPartition", ErrorCode]
"""The error of each partition of a request."""


def commit(transition: GroupTransition, request: CommitRequest) -> Errors:
    """Commit offsets for a member of the current generation, or for a consumer that assigns itself
    partitions.
    """
    group = transition.shard.groups.get(request.group_id)
    if group is None:
        if request.generation >= 0:
            missing = (
                ErrorCode.ILLEGAL_GENERATION if request.is_transactional else ErrorCode.GROUP_ID_NOT_FOUND
            )
            return every(request.offsets, missing)
        group = transition.shard.create_simple(request.group_id, transition.now_ms)
    error = group.commit_error(request)
    if error != ErrorCode.NONE:
        return every(request.offsets, error)
    error = _partition_error(transition, group, request)
    if error != ErrorCode.NONE:
        return every(request.offsets, error)
    if not request.is_transactional:
        group.keep_alive(transition, request.member_id)
    return {
        (offset.topic, offset.partition): _commit_one(transition, request, offset)
        for offset in request.offsets
    }


def _partition_error(transition: GroupTransition, group: Group, request: CommitRequest) -> ErrorCode:
    """Return the first error that the group has for a partition; as in Kafka, it applies to all
    partitions.
    """
    judge = group.judge_of_partitions(request)
    if judge is None:
        return ErrorCode.NONE
    topics = transition.shard.image().topics
    for offset in request.offsets:
        topic = topics.get(offset.topic)
        topic_id = ZERO_UUID if topic is None else topic.topic_id
        error = judge(offset.topic, topic_id, offset.partition)
        if error != ErrorCode.NONE and _metadata_fits(offset.metadata or "", transition.shard.config):
            return error
    return ErrorCode.NONE


def every(offsets: Iterable[OffsetToCommit], error: ErrorCode) -> Errors:
    """Return `error` for each of these partitions."""
    return {(offset.topic, offset.partition): error for offset in offsets}


def _commit_one(transition: GroupTransition, request: CommitRequest, offset: OffsetToCommit) -> ErrorCode:
    metadata = offset.metadata or ""
    if not _metadata_fits(metadata, transition.shard.config):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    transition.write(
        OffsetCommitKey(group=request.group_id, topic=offset.topic, partition=offset.partition),
        OffsetCommitValue(
            offset=offset.offset,
            leader_epoch=offset.leader_epoch,
            metadata=metadata,
            commit_timestamp=transition.now_ms if offset.commit_timestamp == -1 else offset.commit_timestamp,
            expire_timestamp=_expiry(transition.now_ms, request.retention_ms),
        ),
    )
    return ErrorCode.NONE


def _expiry(now_ms: int, retention_ms: int) -> int:
    """Return the end in ms of the retention that the client requested, at most the largest int64; -1 if it
    requested none.
    """
    return -1 if retention_ms == -1 else min(now_ms + retention_ms, MAX_TIMESTAMP)


def _metadata_fits(metadata: str, config: GroupCoordinatorConfig) -> bool:
    """Return whether the metadata is short enough. Its length is counted in UTF-16 code units, as in Java."""
    limit = config.offset_metadata_max_bytes
    return len(metadata) <= limit and sum(1 + (char > "\uffff") for char in metadata) <= limit


def fetch(
    shard: ShardGroups,
    asker: FetchingMember,
    partitions: Iterable[TopicPartition] | None,
    require_stable: bool,
) -> FetchAnswer:
    """Return committed offsets; of all partitions with an offset if `partitions` is None."""
    group_id = asker.group_id
    group = shard.groups.get(group_id)
    error = ErrorCode.NONE if group is None else group.fetch_error(asker.member_id, asker.member_epoch)
    if error != ErrorCode.NONE:
        return FetchAnswer(error)
    offsets = shard.offsets.get(group_id)
    if offsets is None:
        return FetchAnswer(offsets={partition: FetchedOffset() for partition in partitions or ()})
    if partitions is None:
        partitions = sorted(partition for partition, _ in offsets.visible_items())
    answer: dict[TopicPartition, FetchedOffset] = {}
    for partition in partitions:
        committed = offsets.visible(partition)
        if require_stable and offsets.is_unstable(partition):
            answer[partition] = FetchedOffset(error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        elif committed is None:
            answer[partition] = FetchedOffset()
        else:
            answer[partition] = FetchedOffset(committed.offset, committed.leader_epoch, committed.metadata)
    return FetchAnswer(offsets=answer)


def delete(
    transition: GroupTransition, group_id: str, partitions: Iterable[TopicPartition]
) -> tuple[ErrorCode, Errors]:
    """Delete offsets of single partitions, except those of topics that an active consumer group consumes
    (KIP-496).
    """
    group = transition.shard.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND, {}
    error = group.delete_offsets_error()
    if error != ErrorCode.NONE:
        return error, {}
    errors: Errors = {}
    for partition in partitions:
        if group.subscribes_to(partition[0]):
            errors[partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            errors[partition] = ErrorCode.NONE
            write_offset_tombstone(transition, group_id, partition)
    return ErrorCode.NONE, errors


def write_offset_tombstone(transition: GroupTransition, group_id: str, partition: TopicPartition) -> None:
    """Write the tombstone of an offset, if the group has one, committed or in an open transaction."""
    offsets = transition.shard.offsets.get(group_id)
    if offsets is not None and offsets.has(partition):
        topic, index = partition
        transition.write(OffsetCommitKey(group=group_id, topic=topic, partition=index), None)
