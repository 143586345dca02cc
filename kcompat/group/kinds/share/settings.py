"""Settings of share groups: the broker's, and those that a group may override (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.group import (
    SHARE_ASSIGNMENT_INTERVAL,
    SHARE_HEARTBEAT_INTERVAL,
    SHARE_SESSION_TIMEOUT,
    Bounds,
    group_bounds,
)
from kcompat.group.assignors.simple import SimpleAssignor
from kcompat.group.modern.own_settings import own_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ASSIGNOR = SimpleAssignor()
"""The only assignor that Kafka has for share groups."""


class ShareGroupConfig(Struct, frozen=True):
    """A snapshot of the broker's settings for share groups. Times in ms."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_size: int
    assignment_interval_ms: int
    """Minimum time in ms for which a target assignment is kept."""
    initialize_retry_interval_ms: int
    """Time in ms after which a request to the share coordinator without a response is repeated."""

    session_timeout_bounds: Bounds
    heartbeat_interval_bounds: Bounds
    assignment_interval_bounds: Bounds

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ShareGroupConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            session_timeout_ms=get("group.share.session.timeout.ms"),
            heartbeat_interval_ms=get("group.share.heartbeat.interval.ms"),
            max_size=get("group.share.max.size"),
            assignment_interval_ms=get("group.share.assignment.interval.ms"),
            initialize_retry_interval_ms=get("group.share.initialize.retry.interval.ms"),
            session_timeout_bounds=group_bounds(SHARE_SESSION_TIMEOUT, get),
            heartbeat_interval_bounds=group_bounds(SHARE_HEARTBEAT_INTERVAL, get),
            assignment_interval_bounds=group_bounds(SHARE_ASSIGNMENT_INTERVAL, get),
        )

    def of_group(self, own: Mapping[str, str]) -> ShareGroupConfig:
        """Return the settings of a group with these configs of its own, clamped to the broker's current
        bounds.
        """
        if not own:
            return self
        limits = (
            (SHARE_SESSION_TIMEOUT, "session_timeout_ms", self.session_timeout_bounds),
            (SHARE_HEARTBEAT_INTERVAL, "heartbeat_interval_ms", self.heartbeat_interval_bounds),
            (SHARE_ASSIGNMENT_INTERVAL, "assignment_interval_ms", self.assignment_interval_bounds),
        )
        return replace(self, **own_numbers(own, limits))
