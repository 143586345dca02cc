"""Settings of consumer groups: the broker's, and those that a group may override (KIP-848)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.group import (
    ASSIGNMENT_INTERVAL,
    HEARTBEAT_INTERVAL,
    NO_BOUNDS,
    SESSION_TIMEOUT,
    Bounds,
    group_bounds,
)
from kcompat.group.assignors.range import RangeAssignor
from kcompat.group.assignors.uniform import UniformAssignor
from kcompat.group.modern.own_settings import own_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.assignors.spec import Assignor


class MigrationPolicy(Enum):
    """Directions in which groups are converted (Kafka's `ConsumerGroupMigrationPolicy`), by their
    configuration values.
    """

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        """Whether a classic group becomes a consumer group when a member with the consumer protocol joins."""
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        """Whether a consumer group becomes a classic group when its last member with the consumer protocol
        leaves.
        """
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())
}


class ConsumerGroupConfig(Struct, frozen=True):
    """A snapshot of the broker's settings for consumer groups. Times in ms.

    `assignors`: the first is the default.
    """

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    """Minimum time in ms for which a target assignment is kept: the group's override, else 0."""
    max_size: int
    regex_refresh_interval_ms: int
    assignors: tuple[str, ...]
    migration: MigrationPolicy

    session_timeout_bounds: Bounds
    heartbeat_interval_bounds: Bounds

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ConsumerGroupConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            session_timeout_ms=get("group.consumer.session.timeout.ms"),
            heartbeat_interval_ms=get("group.consumer.heartbeat.interval.ms"),
            assignment_interval_ms=0,
            max_size=get("group.consumer.max.size"),
            regex_refresh_interval_ms=get("group.consumer.regex.refresh.interval.ms"),
            migration=MigrationPolicy(get("group.consumer.migration.policy").lower()),
            assignors=tuple(assignor_name(name) for name in get("group.consumer.assignors")),
            session_timeout_bounds=group_bounds(SESSION_TIMEOUT, get),
            heartbeat_interval_bounds=group_bounds(HEARTBEAT_INTERVAL, get),
        )

    def of_group(self, own: Mapping[str, str]) -> ConsumerGroupConfig:
        """Return the settings of a group with these configs of its own, clamped to the broker's current
        bounds.
        """
        if not own:
            return self
        limits = (
            (SESSION_TIMEOUT, "session_timeout_ms", self.session_timeout_bounds),
            (HEARTBEAT_INTERVAL, "heartbeat_interval_ms", self.heartbeat_interval_bounds),
            (ASSIGNMENT_INTERVAL, "assignment_interval_ms", NO_BOUNDS),
        )
        return replace(self, **own_numbers(own, limits))


def assignor_name(configured: str) -> str:
    """Return the name of an assignor, which the configuration may give as the name of Kafka's class."""
    for assignor in ASSIGNORS.values():
        if configured == f"org.apache.kafka.coordinator.group.assignor.{type(assignor).__name__}":
            return assignor.name
    return configured
