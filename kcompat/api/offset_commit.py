"""OffsetCommit (key 8), versions 0-10.

Behaviour
- Writes offsets to `__consumer_offsets` and answers once they are committed there.
- A commit of a group's member needs its generation; one without a generation is taken while the group has no
  members.
- Partitions that do not exist are refused one by one; the others are written.

Version notes
- 0: has neither member nor generation. Kafka kept these offsets in ZooKeeper; here they are where all others
  are, so that a group can go on with a newer client.
- 1: the client may date each commit.
- 2-4: the client may choose how long the offsets are kept, counted from the commit.
- 6: leader epochs (KIP-320).
- 7: instance ids (KIP-345).
- 9: a generation of a group that does not exist has GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION (KIP-848).
- 10: topics by id (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.requests import CommitRequest, OffsetToCommit
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicRequest = OffsetCommitRequest.OffsetCommitRequestTopic
TopicAnswer = OffsetCommitResponse.OffsetCommitResponseTopic
PartitionAnswer = OffsetCommitResponse.OffsetCommitResponsePartition


def handle(
    context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Promise[OffsetCommitResponse]:
    """Commit what can be committed."""
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return _refusal(request)
    refused: list[tuple[TopicRequest, PartitionAnswer]] = []
    taken: list[tuple[TopicRequest, PartitionAnswer]] = []
    offsets: list[OffsetToCommit] = []
    image = context.services.cluster.image
    for topic in request.topics:
        name = _topic_name(context, topic)
        error = _topic_error(context, name)
        for partition in topic.partitions:
            index = partition.partition_index
            row = PartitionAnswer(partition_index=index, error_code=error)
            if name is not None and not error and image.partition(name, index) is None:
                row.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if name is None or row.error_code != ErrorCode.NONE:
                refused.append((topic, row))
                continue
            taken.append((topic, row))
            offsets.append(
                OffsetToCommit(
                    name,
                    index,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata,
                    partition.commit_timestamp,
                )
            )
    response = OffsetCommitResponse(topics=_by_topic([*refused, *taken]))
    if not offsets:
        return response
    commit = CommitRequest(
        request.group_id,
        tuple(offsets),
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id,
        request.retention_time_ms,
    )

    def settle(errors: dict[tuple[str, int], ErrorCode]) -> OffsetCommitResponse:
        for offset, (_, row) in zip(offsets, taken, strict=True):
            row.error_code = _told(errors[offset.topic, offset.partition], context.api_version)
        return response

    return context.services.groups.commit(commit).map(settle)


def _refusal(request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Every row as it was asked, refused with the group."""
    error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    return OffsetCommitResponse(
        topics=[
            TopicAnswer(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[PartitionAnswer(row.partition_index, error) for row in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _by_topic(rows: Iterable[tuple[TopicRequest, PartitionAnswer]]) -> list[TopicAnswer]:
    """The rows under their topics. Those refused come first, as on a Kafka broker."""
    topics: dict[tuple[str, bytes], TopicAnswer] = {}
    for topic, row in rows:
        key = (topic.name, topic.topic_id)
        if key not in topics:
            topics[key] = TopicAnswer(name=topic.name, topic_id=topic.topic_id)
        topics[key].partitions.append(row)
    return list(topics.values())


def _told(error: ErrorCode, version: int) -> ErrorCode:
    """The error as the version knows it."""
    if error == ErrorCode.GROUP_ID_NOT_FOUND and version < 9:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def _topic_name(context: RequestContext, topic: TopicRequest) -> str | None:
    """The topic's name; None for an id that nobody has."""
    if context.api_version < 10:
        return topic.name
    image = context.services.cluster.image.topic_by_id(topic.topic_id)
    return None if image is None else image.name


def _topic_error(context: RequestContext, name: str | None) -> ErrorCode:
    """What is wrong with all partitions of a topic."""
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not context.may(Operation.READ, Resource.topic(name)):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE
