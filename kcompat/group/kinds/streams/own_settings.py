"""The settings of one streams group: the broker's, and what the group has set for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.config_entities import GROUPS

if TYPE_CHECKING:
    from kcompat.group.base import Groups
    from kcompat.group.modern.streams_settings import StreamsGroupConfig


def settings_of(shard: Groups, group_id: str) -> StreamsGroupConfig:
    """What is in force for the group now."""
    return shard.config.streams.of_group(shard.image().configs(GROUPS, group_id))
