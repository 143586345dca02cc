"""OffsetFetch (key 9), versions 0-10.

Behaviour
- Returns committed offsets. A partition without an offset gets -1 and no error, even if its topic is missing.

Version notes
- 0: a partition without an offset gets UNKNOWN_TOPIC_OR_PARTITION, which clients of this version expect.
  Kafka kept these offsets in ZooKeeper; here they are in `__consumer_offsets` like all others.
- 0-1: each partition has the error of the group. 2: a top-level error, and null topics request all
  partitions.
- 5: leader epochs (KIP-320).
- 7: `require_stable` refuses partitions with a commit that is being written or is in an open transaction
  (KIP-447). Unlike Kafka, the coordinator also confirms that no other broker has taken over.
- 8: several groups in one request (KIP-709).
- 9: member id and epoch, which a consumer group checks (KIP-848).
- 10: topics by id (KIP-848).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcompat.group.requests import FetchAnswer, FetchedOffset, FetchingMember
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.context import RequestContext

GroupRequest = OffsetFetchRequest.OffsetFetchRequestGroup
GroupAnswer = OffsetFetchResponse.OffsetFetchResponseGroup
GroupTopic = OffsetFetchResponse.OffsetFetchResponseTopics
GroupPartition = OffsetFetchResponse.OffsetFetchResponsePartitions
SingleTopic = OffsetFetchResponse.OffsetFetchResponseTopic
SinglePartition = OffsetFetchResponse.OffsetFetchResponsePartition

Wanted = Sequence[tuple[str, Sequence[int]]]


def handle(context: RequestContext, request: OffsetFetchRequest) -> Promise[OffsetFetchResponse]:
    """Return the committed offsets of groups."""
    if context.api_version >= 8:
        answers = [_fetch_group(context, group, request.require_stable) for group in request.groups]
        return gather(answers).map(lambda groups: OffsetFetchResponse(groups=groups))
    wanted = None if request.topics is None else [(t.name, t.partition_indexes) for t in request.topics]
    return _fetch_single(context, request.group_id, wanted, request.require_stable)


def _fetch(
    context: RequestContext, client: FetchingMember, wanted: Wanted | None, require_stable: bool
) -> Promise[tuple[FetchAnswer, Wanted]]:
    """Read offsets from the coordinator; promise them with the partitions to answer: the wanted ones, or all.

    Topics that the client may not describe are refused if `wanted` names them, and left out of all
    partitions.
    """
    if not context.may(Operation.DESCRIBE, Resource.group(client.group_id)):
        return Promise.resolved((FetchAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED), wanted or []))
    if wanted is None:
        return context.services.coordinators.groups.fetch(client, None, require_stable).map(
            lambda answer: (
                answer,
                [row for row in _by_topic(answer.offsets) if _may_describe(context, row[0])],
            )
        )
    hidden = {name for name, _ in wanted if not _may_describe(context, name)}
    requested = [(name, index) for name, indexes in wanted for index in indexes]
    shown = [partition for partition in requested if partition[0] not in hidden]
    refusal = FetchedOffset(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    refused = {partition: refusal for partition in requested if partition[0] in hidden}
    return context.services.coordinators.groups.fetch(client, shown, require_stable).map(
        lambda answer: (FetchAnswer(answer.error, {**answer.offsets, **refused}), wanted)
    )


def _may_describe(context: RequestContext, topic: str) -> bool:
    return context.may(Operation.DESCRIBE, Resource.topic(topic))


def _by_topic(partitions: Iterable[tuple[str, int]]) -> Wanted:
    topics: dict[str, list[int]] = {}
    for name, index in partitions:
        topics.setdefault(name, []).append(index)
    return list(topics.items())


def _fetch_single(
    context: RequestContext, group_id: str, wanted: Wanted | None, require_stable: bool
) -> Promise[OffsetFetchResponse]:
    """Promise the response for one group, as in versions 0 to 7."""
    fetching = _fetch(context, FetchingMember(group_id), wanted, require_stable)
    return fetching.map(lambda found: _single(context.api_version, *found))


def _single(version: int, answer: FetchAnswer, topics: Wanted) -> OffsetFetchResponse:
    if answer.error != ErrorCode.NONE and version >= 2:
        return OffsetFetchResponse(error_code=answer.error)

    def row(name: str, index: int) -> SinglePartition:
        fetched = answer.offsets.get((name, index), FetchedOffset(error=answer.error))
        error = fetched.error
        if version == 0 and error == ErrorCode.NONE and fetched.offset == -1:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return SinglePartition(
            partition_index=index,
            committed_offset=fetched.offset,
            committed_leader_epoch=fetched.leader_epoch,
            metadata=fetched.metadata,
            error_code=error,
        )

    return OffsetFetchResponse(
        topics=[
            SingleTopic(name=name, partitions=[row(name, index) for index in indexes])
            for name, indexes in topics
        ]
    )


def _fetch_group(context: RequestContext, group: GroupRequest, require_stable: bool) -> Promise[GroupAnswer]:
    """Promise the row of one of several groups, as in versions from 8 on."""
    wanted: list[tuple[str, Sequence[int]]] | None = None
    unknown: list[GroupTopic] = []
    if group.topics is not None:
        wanted = []
        for topic in group.topics:
            name = _topic_name(context, topic)
            if name is None:
                unknown.append(_unknown_topic(topic))
            else:
                wanted.append((name, topic.partition_indexes))
    client = FetchingMember(group.group_id, group.member_id, group.member_epoch)

    def row(answer: FetchAnswer, topics: Wanted) -> GroupAnswer:
        if answer.error != ErrorCode.NONE:
            return GroupAnswer(group_id=group.group_id, error_code=answer.error)
        known = (_group_topic(context, name, indexes, answer) for name, indexes in topics)
        return GroupAnswer(group_id=group.group_id, topics=[*(t for t in known if t is not None), *unknown])

    return _fetch(context, client, wanted, require_stable).map(lambda found: row(*found))


def _group_topic(
    context: RequestContext, name: str, indexes: Sequence[int], answer: FetchAnswer
) -> GroupTopic | None:
    """Return the row of a topic, or None if a version 10 response has no id for it, as the topic is
    deleted.
    """
    topic = GroupTopic(name=name)
    if context.api_version >= 10:
        image = context.services.cluster.metadata.image.topics.get(name)
        if image is None:
            return None
        topic.topic_id = image.topic_id
    for index in indexes:
        fetched = answer.offsets[name, index]
        topic.partitions.append(
            GroupPartition(
                partition_index=index,
                committed_offset=fetched.offset,
                committed_leader_epoch=fetched.leader_epoch,
                metadata=fetched.metadata,
                error_code=fetched.error,
            )
        )
    return topic


def _topic_name(context: RequestContext, topic: OffsetFetchRequest.OffsetFetchRequestTopics) -> str | None:
    if context.api_version < 10:
        return topic.name
    image = context.services.cluster.metadata.image.topic_by_id(topic.topic_id)
    return None if image is None else image.name


def _unknown_topic(topic: OffsetFetchRequest.OffsetFetchRequestTopics) -> GroupTopic:
    return GroupTopic(
        topic_id=topic.topic_id,
        partitions=[
            GroupPartition(partition_index=index, committed_offset=-1, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            for index in topic.partition_indexes
        ],
    )
