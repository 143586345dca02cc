"""What the share coordinator answered to the wish to begin share partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share import records
from kcompat.group.kinds.share.finding import find_group
from kcompat.group.modern.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.share.initialization import TopicPartitions


def completed(turn: GroupTurn, group_id: str, topics: Mapping[bytes, TopicPartitions]) -> None:
    """These have state: members may have them. What was deleted meanwhile is not waited for any more."""
    group = find_group(turn.shard, group_id)
    if not isinstance(group, Refusal):
        image = turn.shard.image()
        there = {topic_id: row for topic_id, row in topics.items() if image.topic_by_id(topic_id) is not None}
        state = group.initialization.with_given_up(topics).with_completed(there)
        records.write_initialization(turn, group_id, state)


def given_up(turn: GroupTurn, group_id: str, topics: Mapping[bytes, TopicPartitions]) -> None:
    """The share coordinator could not be asked, or refused: the next heartbeat asks again."""
    group = find_group(turn.shard, group_id)
    if isinstance(group, Refusal) or not group.initialization.initializing:
        return
    records.write_initialization(turn, group_id, group.initialization.with_given_up(topics))


def forget_topics(turn: GroupTurn, gone: Collection[bytes]) -> None:
    """These topics were deleted; the share coordinator hears of it by itself."""
    for group_id in list(turn.shard.groups):
        group = find_group(turn.shard, group_id)
        if isinstance(group, Refusal):
            continue
        state = group.initialization.without_topics(gone)
        if state != group.initialization:
            records.write_initialization(turn, group_id, state)
