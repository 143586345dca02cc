"""Changes of share groups by administrators: deletion, and new start offsets.

The share coordinator changes the state of share partitions. The group coordinator records its requests to it
here, so that they can be repeated. Kafka's counterparts:
`GroupCoordinatorShard.sharePartitionDeleteRequests`, `initiateDeleteShareGroupOffsets`,
`completeDeleteShareGroupOffsets`; `alterShareGroupOffsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share.group import ShareGroup, find_or_make
from kcompat.group.kinds.share.initialization import Initialization, TopicPartitions, union
from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.requests import Begin, OffsetChange, StateDeletion
from kcompat.group.modern.group import find
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.cluster.image import TopicImage
    from kcompat.group.base import GroupTransition

NOTHING_TO_DELETE = "There is no offset information to delete."
NON_EMPTY = Refusal(ErrorCode.NON_EMPTY_GROUP, ErrorCode.NON_EMPTY_GROUP.message)


def begin_to_delete(transition: GroupTransition, group_id: str) -> StateDeletion:
    """Begin the deletion of a group: return all share partitions for which the share coordinator has state.

    The result is empty if the group does not exist or is of another kind.
    """
    group = find(transition.shard, group_id, ShareGroup)
    if isinstance(group, Refusal):
        return StateDeletion()
    if len(group.members):
        return StateDeletion(*_refused(NON_EMPTY))
    if not group.knows_topics:
        return StateDeletion()
    state, image = group.initialization, transition.shard.image()
    topics = union(state.initialized, state.initializing)
    again = [topic for topic_id in state.deleting if (topic := image.topic_by_id(topic_id)) is not None]
    topics = union(topics, {topic.topic_id: _whole(topic) for topic in again})
    RECORDS.write_initialization(transition, group_id, Initialization(deleting=frozenset(topics)))
    return StateDeletion(topics=topics)


def begin_to_delete_offsets(
    transition: GroupTransition, group_id: str, names: Iterable[str]
) -> StateDeletion:
    """Begin DeleteShareGroupOffsets: return the share partitions of these topics that have state."""
    group = find(transition.shard, group_id, ShareGroup)
    if isinstance(group, Refusal):
        return StateDeletion(*_refused(group))
    if len(group.members):
        return StateDeletion(*_refused(NON_EMPTY))
    if not group.knows_topics:
        return StateDeletion()
    state, image = group.initialization, transition.shard.image()
    begun = union(state.initialized, state.initializing)
    topics: dict[bytes, TopicPartitions] = {}
    refused: dict[str, tuple[ErrorCode, str]] = {}
    for name in names:
        topic = image.topics.get(name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            refused[name] = (error, error.message)
        elif topic.topic_id in state.initialized:
            topics[topic.topic_id] = begun[topic.topic_id]
        elif topic.topic_id in state.deleting:
            topics[topic.topic_id] = _whole(topic)
        else:
            refused[name] = (error, NOTHING_TO_DELETE)
    RECORDS.write_initialization(transition, group_id, state.with_deleting(topics))
    return StateDeletion(topics=topics, refused=refused)


def complete_offset_deletion(transition: GroupTransition, group_id: str, topic_ids: Iterable[bytes]) -> None:
    """Record that the share coordinator has deleted the state of these topics."""
    group = find(transition.shard, group_id, ShareGroup)
    if not isinstance(group, Refusal) and group.knows_topics:
        RECORDS.write_initialization(transition, group_id, group.initialization.with_deleted(topic_ids))


def begin_to_alter(
    transition: GroupTransition, group_id: str, offsets: Mapping[str, Mapping[int, int]]
) -> OffsetChange:
    """Begin AlterShareGroupOffsets: return the share partitions to initialize again.

    The group need not exist yet. Partitions and topics that do not exist are left out.
    """
    group = find_or_make(transition.shard, group_id)
    if isinstance(group, Refusal):
        return OffsetChange(*_refused(group))
    if len(group.members):
        return OffsetChange(*_refused(NON_EMPTY))
    topics = {}
    for name, of_topic in offsets.items():
        topic = transition.shard.image().topics.get(name)
        if topic is not None:
            known = frozenset(index for index in of_topic if index < len(topic.partitions))
            topics[topic.topic_id] = TopicPartitions(name, known)
    if topics:
        group.requested_ms.update(dict.fromkeys(topics, transition.now_ms))
        RECORDS.write_initialization(transition, group_id, group.initialization.with_begun(topics))
    ids = {row.name: topic_id for topic_id, row in topics.items()}
    return OffsetChange(begin=Begin(group.group_epoch, topics), topic_ids=ids)


def completed(transition: GroupTransition, group_id: str, topics: Mapping[bytes, TopicPartitions]) -> None:
    """Record that these share partitions have state, so that members may get them.

    Partitions of topics that no longer exist are left out.
    """
    group = find(transition.shard, group_id, ShareGroup)
    if not isinstance(group, Refusal):
        image = transition.shard.image()
        there = {topic_id: row for topic_id, row in topics.items() if image.topic_by_id(topic_id) is not None}
        state = group.initialization.with_completed(there).without_initializing(topics)
        RECORDS.write_initialization(transition, group_id, state)


def failed(transition: GroupTransition, group_id: str, topics: Mapping[bytes, TopicPartitions]) -> None:
    """Record that the share coordinator did not initialize these share partitions; the next heartbeat
    requests it again.
    """
    group = find(transition.shard, group_id, ShareGroup)
    if isinstance(group, Refusal) or not group.initialization.initializing:
        return
    RECORDS.write_initialization(transition, group_id, group.initialization.without_initializing(topics))


def forget_topics(transition: GroupTransition, gone: Collection[bytes]) -> None:
    """Forget the share partitions of deleted topics, whose state the share coordinator deletes by itself."""
    for group_id in list(transition.shard.groups):
        group = find(transition.shard, group_id, ShareGroup)
        if isinstance(group, Refusal):
            continue
        state = group.initialization.without_topics(gone)
        if state != group.initialization:
            RECORDS.write_initialization(transition, group_id, state)


def _whole(topic: TopicImage) -> TopicPartitions:
    return TopicPartitions(topic.name, frozenset(topic.partitions))


def _refused(refusal: Refusal) -> tuple[ErrorCode, str | None]:
    return refusal.error, refusal.message
