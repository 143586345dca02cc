"""The settings of groups, from the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig
from kcompat.group.kinds.share.settings import ShareGroupConfig
from kcompat.group.kinds.streams.settings import StreamsGroupConfig
from kcompat.group.modern.own_settings import INT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable


class GroupCoordinatorConfig(Struct, frozen=True):
    """A snapshot of the broker's group settings, with Kafka's defaults. Times in ms."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    """Kafka's own default is 3000. With 0 the first consumer of a group does not wait for others."""
    max_size: int = INT_MAX
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 10_080 * 60_000
    retention_check_interval_ms: int = 600_000
    commit_timeout_ms: int = 5_000
    consumer: ConsumerGroupConfig = ConsumerGroupConfig()
    share: ShareGroupConfig = ShareGroupConfig()
    streams: StreamsGroupConfig = StreamsGroupConfig()
    rebalance_protocols: frozenset[str] = frozenset({"classic", "consumer", "streams"})
    """The kinds of groups that are served."""

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> GroupCoordinatorConfig:
        """The settings, by Kafka's names."""
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
