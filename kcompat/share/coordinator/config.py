"""The settings of the share coordinator, from the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class ShareCoordinatorConfig(Struct, frozen=True):
    """A snapshot of the settings. Times in ms."""

    updates_per_snapshot: int
    write_timeout_ms: int
    prune_interval_ms: int
    cold_snapshot_interval_ms: int

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ShareCoordinatorConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            updates_per_snapshot=get("share.coordinator.snapshot.update.records.per.snapshot"),
            write_timeout_ms=get("share.coordinator.write.timeout.ms"),
            prune_interval_ms=get("share.coordinator.state.topic.prune.interval.ms"),
            cold_snapshot_interval_ms=get("share.coordinator.cold.partition.snapshot.interval.ms"),
        )
