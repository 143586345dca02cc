"""The settings of share groups: the broker's, and those that a group may override (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.group import (
    SHARE_ASSIGNMENT_INTERVAL,
    SHARE_HEARTBEAT_INTERVAL,
    SHARE_SESSION_TIMEOUT,
)
from kcompat.group.assignors.simple import SimpleAssignor
from kcompat.group.modern.own_settings import Bounds, bounds, own_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ASSIGNOR = SimpleAssignor()
"""The one that Kafka has for share groups."""


class ShareGroupConfig(Struct, frozen=True):
    """A snapshot of the broker's settings for share groups, with the defaults of Kafka 4.3. Times in ms."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 200
    assignment_interval_ms: int = 1_000
    """How long a target assignment lasts at least."""
    initialize_retry_interval_ms: int = 30_000
    """How long the share coordinator is waited for before it is asked again."""

    session_timeout_bounds: Bounds = (45_000, 60_000)
    heartbeat_interval_bounds: Bounds = (5_000, 15_000)
    assignment_interval_bounds: Bounds = (0, 15_000)

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ShareGroupConfig:
        """The settings, by Kafka's names."""
        return cls(
            session_timeout_ms=get("group.share.session.timeout.ms"),
            heartbeat_interval_ms=get("group.share.heartbeat.interval.ms"),
            max_size=get("group.share.max.size"),
            assignment_interval_ms=get("group.share.assignment.interval.ms"),
            initialize_retry_interval_ms=get("group.share.initialize.retry.interval.ms"),
            session_timeout_bounds=bounds(get, "share", "session.timeout.ms"),
            heartbeat_interval_bounds=bounds(get, "share", "heartbeat.interval.ms"),
            assignment_interval_bounds=bounds(get, "share", "assignment.interval.ms"),
        )

    def of_group(self, own: Mapping[str, str]) -> ShareGroupConfig:
        """The settings of a group that has these of its own, brought within bounds that are younger."""
        if not own:
            return self
        limits = (
            (SHARE_SESSION_TIMEOUT, "session_timeout_ms", self.session_timeout_bounds),
            (SHARE_HEARTBEAT_INTERVAL, "heartbeat_interval_ms", self.heartbeat_interval_bounds),
            (SHARE_ASSIGNMENT_INTERVAL, "assignment_interval_ms", self.assignment_interval_bounds),
        )
        return replace(self, **own_numbers(own, limits))
