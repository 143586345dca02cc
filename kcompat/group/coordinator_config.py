"""The settings of groups, from the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig
from kcompat.group.kinds.share.settings import ShareGroupConfig
from kcompat.group.kinds.streams.settings import StreamsGroupConfig

if TYPE_CHECKING:
    from collections.abc import Callable


class GroupCoordinatorConfig(Struct, frozen=True):
    """A snapshot of the broker's group settings. Times in ms."""

    min_session_timeout_ms: int
    max_session_timeout_ms: int
    initial_rebalance_delay_ms: int
    max_size: int
    offset_metadata_max_bytes: int
    offsets_retention_ms: int
    retention_check_interval_ms: int
    commit_timeout_ms: int
    consumer: ConsumerGroupConfig
    share: ShareGroupConfig
    streams: StreamsGroupConfig
    rebalance_protocols: frozenset[str]
    """Protocol types of groups that the broker serves (`group.coordinator.rebalance.protocols`)."""

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> GroupCoordinatorConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            min_session_timeout_ms=get("group.min.session.timeout.ms"),
            max_session_timeout_ms=get("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=get("group.initial.rebalance.delay.ms"),
            max_size=get("group.max.size"),
            offset_metadata_max_bytes=get("offset.metadata.max.bytes"),
            offsets_retention_ms=get("offsets.retention.minutes") * 60_000,
            retention_check_interval_ms=get("offsets.retention.check.interval.ms"),
            commit_timeout_ms=get("offsets.commit.timeout.ms"),
            consumer=ConsumerGroupConfig.read(get),
            share=ShareGroupConfig.read(get),
            streams=StreamsGroupConfig.read(get),
            rebalance_protocols=frozenset(get("group.coordinator.rebalance.protocols")),
        )
