"""ConsumerGroupDescribe: what is told of consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.requests import DescribedConsumerGroup
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import Groups


def describe(shard: Groups, group_id: str, default_assignor: str) -> DescribedConsumerGroup:
    """One group; GROUP_ID_NOT_FOUND where there is none, or one of another kind."""
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group.described_as_consumers(default_assignor)
    what = "not found" if group is None else "is not a consumer group"
    return DescribedConsumerGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
