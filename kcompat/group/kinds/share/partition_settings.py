"""Settings of share groups: the group's own values, or else the broker's.

Kafka's counterparts: `ShareGroupConfigProvider`, `GroupConfig` and `ShareGroupAutoOffsetResetStrategy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.cluster.config_entities import GROUPS
from kcompat.config.group import (
    AUTO_OFFSET_RESET,
    DELIVERY_COUNT_LIMIT,
    ISOLATION_LEVEL,
    MAX_RECORD_LOCKS,
    RECORD_LOCK_DURATION,
    RENEW_ACKNOWLEDGE,
    effective,
)
from kcompat.config.start_strategy import LATEST, duration_of
from kcompat.replication.listing import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kcompat.replication.reading import READ_COMMITTED, READ_UNCOMMITTED
from kcompat.share.partition.limits import ShareLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import ImageHolder
    from kcompat.config.broker import BrokerConfig


class ConfigHolder(Protocol):
    """Port to the current configuration."""

    @property
    def current(self) -> BrokerConfig:
        """The broker's current configuration."""


class SharePartitionSettings:
    """Implementation of `ShareSettings` by the configs that are stored in the cluster."""

    def __init__(self, config: ConfigHolder, cluster: ImageHolder) -> None:
        self._config = config
        self._cluster = cluster

    def limits(self, group_id: str) -> ShareLimits:
        own, config = self._own(group_id), self._config.current

        def number(name: str) -> int:
            value = effective(name, own, config)
            assert isinstance(value, int)
            return value

        return ShareLimits(
            number(MAX_RECORD_LOCKS),
            number(DELIVERY_COUNT_LIMIT),
            number(RECORD_LOCK_DURATION),
            bool(effective(RENEW_ACKNOWLEDGE, own, config)),
        )

    def isolation_level(self, group_id: str) -> int:
        level = effective(ISOLATION_LEVEL, self._own(group_id), self._config.current)
        return READ_COMMITTED if level == "read_committed" else READ_UNCOMMITTED

    def start_timestamp(self, group_id: str, now_ms: int) -> int:
        strategy = effective(AUTO_OFFSET_RESET, self._own(group_id), self._config.current)
        return start_timestamp(str(strategy), now_ms)

    def _own(self, group_id: str) -> Mapping[str, str]:
        return self._cluster.image.configs(GROUPS, group_id)


def start_timestamp(strategy: str, now_ms: int) -> int:
    """Return the timestamp for ListOffsets that corresponds to a value of `share.auto.offset.reset`."""
    ago_ms = duration_of(strategy)
    if ago_ms is None:
        return LATEST_TIMESTAMP if strategy.lower() == LATEST else EARLIEST_TIMESTAMP
    return max(now_ms - ago_ms, 0)
