"""Settings of streams groups: the broker's, and those that a group may override (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.group import (
    NO_BOUNDS,
    STREAMS_ASSIGNMENT_INTERVAL,
    STREAMS_HEARTBEAT_INTERVAL,
    STREAMS_INITIAL_DELAY,
    STREAMS_SESSION_TIMEOUT,
    STREAMS_STANDBY_REPLICAS,
    Bounds,
    group_bounds,
)
from kcompat.group.modern.own_settings import own_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class StreamsGroupConfig(Struct, frozen=True):
    """A snapshot of the broker's settings for streams groups. Times in ms."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_size: int
    standby_replicas: int
    """Number of standby copies of each stateful task."""
    initial_delay_ms: int
    """Time in ms for which a group without members waits for more members after the first one has joined."""
    assignment_interval_ms: int
    """Minimum time in ms for which a target assignment is kept."""

    session_timeout_bounds: Bounds
    heartbeat_interval_bounds: Bounds
    assignment_interval_bounds: Bounds
    standby_replicas_bounds: Bounds

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> StreamsGroupConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            session_timeout_ms=get("group.streams.session.timeout.ms"),
            heartbeat_interval_ms=get("group.streams.heartbeat.interval.ms"),
            max_size=get("group.streams.max.size"),
            standby_replicas=get("group.streams.num.standby.replicas"),
            initial_delay_ms=get("group.streams.initial.rebalance.delay.ms"),
            assignment_interval_ms=get("group.streams.assignment.interval.ms"),
            session_timeout_bounds=group_bounds(STREAMS_SESSION_TIMEOUT, get),
            heartbeat_interval_bounds=group_bounds(STREAMS_HEARTBEAT_INTERVAL, get),
            assignment_interval_bounds=group_bounds(STREAMS_ASSIGNMENT_INTERVAL, get),
            standby_replicas_bounds=group_bounds(STREAMS_STANDBY_REPLICAS, get),
        )

    def of_group(self, own: Mapping[str, str]) -> StreamsGroupConfig:
        """Return the settings of a group with these configs of its own, clamped to the broker's current
        bounds.
        """
        if not own:
            return self
        limits = (
            (STREAMS_SESSION_TIMEOUT, "session_timeout_ms", self.session_timeout_bounds),
            (STREAMS_HEARTBEAT_INTERVAL, "heartbeat_interval_ms", self.heartbeat_interval_bounds),
            (STREAMS_ASSIGNMENT_INTERVAL, "assignment_interval_ms", self.assignment_interval_bounds),
            (STREAMS_STANDBY_REPLICAS, "standby_replicas", self.standby_replicas_bounds),
            (STREAMS_INITIAL_DELAY, "initial_delay_ms", NO_BOUNDS),
        )
        return replace(self, **own_numbers(own, limits))
